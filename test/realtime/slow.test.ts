// Clients whose network stands still: what waits for them is bounded in bytes, for each and for all, and they are cut off. A server of 512 MiB.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { feedLimits, realtimeLimits } from '#src/contract/limits.js';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const readers = 100;
const characters = 2_000_000;
const documents = 8;
/** What the process needs for the requests themselves, beside what waits for readers. */
const ownBytes = 350 * 2 ** 20;

const place = await install();
after(() => place.dispose());
Object.assign(place.env, { SVC_RATE_LIMIT: 'off', NODE_OPTIONS: '--max-old-space-size=512' });
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
await place.json(['database', 'create', 'd', '--project', 'shop', '--id', 'd']);
const { secret } = await place.json<{ secret: string }>([
  ...['apikey', 'create', '--project', 'shop', '--name', 'k', '--scopes', 'all'],
]);
const { url, pid } = await place.serve();
const { port } = new URL(url);
const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
const post = async (path: string, body: object) => {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, await answer.text());
};
const permissions = ['read("any")'];
await post('/databases/d/collections', { collectionId: 'c', name: 'c', permissions });
await post('/databases/d/collections/c/attributes/string', { key: 'text', size: characters, required: false });
const channel = 'databases.d.collections.c.documents';

const metric = async (pattern: RegExp): Promise<number> => {
  const text = await (await fetch(`${url.replace('/v1', '')}/metrics`)).text();
  return Number(pattern.exec(text)?.[1] ?? 0);
};
const residentBytes = () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

/** Subscribes over a connection of its own, which is read no more then. */
async function subscribePaused(): Promise<Socket> {
  const socket = connect(Number(port), '127.0.0.1');
  after(() => socket.destroy());
  socket.on('error', () => {});
  let text = '';
  socket.on('data', (part) => {
    text += part.toString('latin1');
  });
  const until = async (word: string) => {
    for (let tries = 0; !text.includes(word) && tries < 1000; tries++) await sleep(20);
    assert.ok(text.includes(word), text);
  };
  const key = Buffer.alloc(16, 1).toString('base64');
  socket.write(
    `GET /v1/realtime?project=shop HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  await until('connected');
  const message = Buffer.from(
    JSON.stringify({ type: 'subscribe', data: [{ subscriptionId: 's', channels: [channel], queries: [] }] }),
  );
  // A text frame of a client (RFC 6455, section 5.2), masked with zeros.
  const head = Buffer.from([0x81, 0x80 | 126, message.length >> 8, message.length & 255, 0, 0, 0, 0]);
  socket.write(Buffer.concat([head, message]));
  await until('"response"');
  socket.pause();
  return socket;
}

/** Opens a stream of the feed that is read no more after its head. */
async function streamPaused(): Promise<void> {
  const request = get(`${url}/events?cursor=0`, { headers: { ...headers, Accept: 'text/event-stream' }, agent: false });
  after(() => request.destroy());
  request.on('error', () => {});
  await new Promise<void>((resolve) => request.once('response', (response) => resolve(void response.pause())));
}

test('sockets and streams that are not read are cut off, and take little memory until then', {
  skip: process.platform !== 'linux',
}, async (t) => {
  await Promise.all(Array.from({ length: readers }, subscribePaused));
  await Promise.all(Array.from({ length: 10 }, streamPaused));
  const told = new Set<string>();
  const quick = new WebSocket(`${url.replace('http', 'ws')}/realtime?project=shop`);
  after(() => quick.terminate());
  quick.on('message', (text) => {
    const { type, data } = JSON.parse(String(text));
    if (type === 'connected')
      quick.send(
        JSON.stringify({ type: 'subscribe', data: [{ subscriptionId: 'q', channels: [channel], queries: [] }] }),
      );
    if (type === 'response') told.add('');
    if (type === 'event') told.add(data.payload.$id);
  });
  const heard = async (id: string) => {
    for (let tries = 0; !told.has(id) && tries < 3000; tries++) await sleep(10);
    assert.ok(told.has(id), id);
  };
  await heard('');
  const before = residentBytes();
  let most = 0;
  for (let at = 0; at < documents; at++) {
    const data = { text: 'x'.repeat(characters) };
    await post('/databases/d/collections/c/documents', { documentId: `d${at}`, data });
    await heard(`d${at}`);
    most = Math.max(most, residentBytes() - before);
  }
  t.diagnostic(`${Math.round(most / 2 ** 20)} MiB at most for ${readers} sockets and 10 streams that are not read`);
  assert.ok(most <= realtimeLimits.bufferedTogether + ownBytes, `${most}`);
  const isCut = async () => (await metric(/^svc_realtime_closed_total\{code="1013"\} (\d+)$/m)) === readers;
  for (let tries = 0; !(await isCut()) && tries < 100; tries++) await sleep(100);
  assert.ok(await isCut(), 'every socket that is not read is closed with 1013');
  const openStreams = () => metric(/^svc_feed_readers (\d+)$/m);
  // Those of one key take turns with large events: the last ones begin when the first are cut off.
  for (const until = performance.now() + 3 * feedLimits.stallMs; performance.now() < until; await sleep(500))
    if ((await openStreams()) === 0) break;
  assert.equal(await openStreams(), 0);
  assert.equal(quick.readyState, WebSocket.OPEN);
});
