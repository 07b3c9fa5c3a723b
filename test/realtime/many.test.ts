// Many sockets on a real server: what each costs in memory, and how soon a change reaches those who asked for it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const sockets = 2000;
const subscribers = 200;
/** Of the process for each socket, as the issue of realtime asks. */
const mostBytes = 60 * 1024;
/** From the answer of a change until it is there, at the 95th percentile: 500 ms, and time for a machine that does other things as well. */
const mostMs = 1500;

const place = await install();
after(() => place.dispose());
Object.assign(place.env, { SVC_RATE_LIMIT: 'off', SVC_REALTIME_SOCKETS_PER_ADDRESS: '5000' });
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
await place.json(['database', 'create', 'd', '--project', 'shop', '--id', 'd']);
const { secret } = await place.json<{ secret: string }>([
  ...['apikey', 'create', '--project', 'shop', '--name', 'k', '--scopes', 'all'],
]);
const { url, pid } = await place.serve();
const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret, 'Content-Type': 'application/json' };
const post = async (path: string, body: object) => {
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal(answer.status, 201, await answer.text());
};
await post('/databases/d/collections', { collectionId: 'c', name: 'c', permissions: ['read("any")'] });

/** Opens a socket that subscribes to a channel; `hear` gets the ids of documents. */
function open(channel: string, hear: (id: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime?project=shop`, { perMessageDeflate: false });
  after(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', (code) => reject(new Error(`closed with ${code}`)));
    socket.on('message', (text) => {
      const { type, data } = JSON.parse(String(text));
      if (type === 'connected')
        socket.send(
          JSON.stringify({ type: 'subscribe', data: [{ subscriptionId: 's', channels: [channel], queries: [] }] }),
        );
      if (type === 'response') resolve(socket);
      if (type === 'event') hear(data.payload.$id);
    });
  });
}

/** What the process holds of the machine's memory, in bytes; it settles after a while. */
async function residentBytes(): Promise<number> {
  const read = () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  let least = read();
  for (let tries = 0; tries < 20; tries++) {
    await sleep(100);
    least = Math.min(least, read());
  }
  return least;
}

test('2000 sockets cost little, and a change reaches 200 of them soon', {
  skip: process.platform !== 'linux',
}, async (t) => {
  // The first sockets load what all of them use.
  for (let at = 0; at < 50; at++) await open('files', () => {});
  const before = await residentBytes();
  for (let at = 0; at < sockets; at += 50) await Promise.all(Array.from({ length: 50 }, () => open('files', () => {})));
  const each = ((await residentBytes()) - before) / sockets;
  t.diagnostic(`${Math.round(each / 1024)} KiB for each socket`);
  assert.ok(each <= mostBytes, `${Math.round(each)} bytes for each socket`);

  const arrivals: number[] = [];
  const sent = new Map<string, number>();
  const channel = 'databases.d.collections.c.documents';
  const hear = (id: string) => arrivals.push(performance.now() - (sent.get(id) ?? 0));
  await Promise.all(Array.from({ length: subscribers }, () => open(channel, hear)));
  const changes = 30;
  for (let n = 0; n < changes; n++) {
    sent.set(`n${n}`, performance.now());
    await post('/databases/d/collections/c/documents', { documentId: `n${n}`, data: {} });
    await sleep(100);
  }
  for (let tries = 0; tries < 100 && arrivals.length < changes * subscribers; tries++) await sleep(50);
  assert.equal(arrivals.length, changes * subscribers);
  const p95 = arrivals.sort((a, b) => a - b)[Math.floor(arrivals.length * 0.95)] ?? Number.POSITIVE_INFINITY;
  t.diagnostic(`p95 ${Math.round(p95)} ms from the request on`);
  assert.ok(p95 <= mostMs, `${Math.round(p95)} ms`);
});
