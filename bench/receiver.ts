// Receives deliveries of webhooks and answers each with 204. Argument: port. Takes {} over the IPC channel and answers what has arrived since the last time.
import { createServer } from 'node:http';
import { percentile } from './statistics.js';

/** What has arrived: how many requests, and the milliseconds from the event of each until it was here. */
export interface Received {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
}

const [port = ''] = process.argv.slice(2);
const timestamp = /"timestamp":"([^"]+)"/;
let count = 0;
let lags: number[] = [];

const server = createServer((request, response) => {
  if (request.url === '/readyz') return void response.end('ok');
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const now = Date.now();
    const head = Buffer.concat(chunks).toString('latin1', 0, 300);
    count += 1;
    lags.push(now - Date.parse(timestamp.exec(head)?.[1] ?? ''));
    response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(port), '127.0.0.1');

process.on('message', () => {
  const sorted = lags.sort((a, b) => a - b);
  const received: Received = { count, p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95) };
  process.send?.(received);
  [count, lags] = [0, []];
});
process.once('disconnect', () => process.exit(0));
