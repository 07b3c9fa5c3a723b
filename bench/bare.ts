// The yardstick: Koa and nothing else, reading each request to its end and answering recorded bodies. Arguments: port, and a JSON file of answers.
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import Koa from 'koa';
import type { RecordedAnswer } from './recording.js';

const [port = '', file = ''] = process.argv.slice(2);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as RecordedAnswer[];
const answers = new Map(recorded.map((answer) => [`${answer.method} ${answer.path}`, answer]));
const ready: RecordedAnswer = { method: 'GET', path: '/readyz', status: 200, type: 'text/plain', body: 'ok' };
answers.set('GET /readyz', ready);

const app = new Koa();
app.use(async (ctx) => {
  if (ctx.method === 'POST') await read(ctx.req);
  const answer = answers.get(`${ctx.method} ${ctx.url}`);
  if (answer === undefined) return;
  ctx.status = answer.status;
  ctx.set('Content-Type', answer.type);
  ctx.body = answer.body;
});

function read(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

const server = app.listen(Number(port), '127.0.0.1');
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
