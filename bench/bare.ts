// The yardstick: Koa and nothing else, answering recorded bodies. Arguments: port, and a JSON file of answers.
import { readFileSync } from 'node:fs';
import Koa from 'koa';
import type { RecordedAnswer } from './recording.js';

const [port = '', file = ''] = process.argv.slice(2);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as RecordedAnswer[];
const answers = new Map(recorded.map((answer) => [`${answer.method} ${answer.path}`, answer]));
const ready: RecordedAnswer = { method: 'GET', path: '/readyz', status: 200, type: 'text/plain', body: 'ok' };
answers.set('GET /readyz', ready);

const app = new Koa();
app.use((ctx) => {
  const answer = answers.get(`${ctx.method} ${ctx.url}`);
  if (answer === undefined) return;
  ctx.status = answer.status;
  ctx.set('Content-Type', answer.type);
  ctx.body = answer.body;
});
const server = app.listen(Number(port), '127.0.0.1');
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
