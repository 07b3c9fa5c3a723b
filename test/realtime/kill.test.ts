// A server is killed while 2000 documents are created: what a socket missed is in the feed, and both together hold every event once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { install, type Server } from '../harness/cli.js';
import { freePort } from '../harness/terminal.js';

const changes = 2000;
const writers = 8;
const channels = ['databases.d.collections.c.documents'];

interface Told {
  readonly id: string;
  readonly document: string;
}

const place = await install();
after(() => place.dispose());
place.env.SVC_RATE_LIMIT = 'off';
place.env.SVC_PORT = String(await freePort());
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
await place.json(['database', 'create', 'd', '--project', 'shop', '--id', 'd']);
const { secret } = await place.json<{ secret: string }>([
  ...['apikey', 'create', '--project', 'shop', '--name', 'k', '--scopes', 'all'],
]);
let server: Server = await place.serve();
const { url } = server;
const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
const asJson = { ...headers, 'Content-Type': 'application/json' };
const made = await fetch(`${url}/databases/d/collections`, {
  method: 'POST',
  headers: asJson,
  body: JSON.stringify({ collectionId: 'c', name: 'c', permissions: ['read("any")'] }),
});
assert.equal(made.status, 201, await made.text());

/** Subscribes a guest, and collects what it is told until the socket closes. */
async function listen(told: Told[]): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime?project=shop`);
  const subscribed = new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.on('message', (text) => {
      const { type, data } = JSON.parse(String(text));
      if (type === 'connected')
        socket.send(JSON.stringify({ type: 'subscribe', data: [{ subscriptionId: 's', channels, queries: [] }] }));
      if (type === 'response') resolve();
      if (type === 'event') told.push({ id: data.id, document: data.payload.$id });
    });
  });
  await subscribed;
  socket.on('error', () => {});
  return socket;
}

/** Everything that the feed has after an event, or from the beginning; at least so many events, or what has come in half a minute. */
async function feedAfter(id: string | undefined, atLeast: number): Promise<Told[]> {
  const stream = new AbortController();
  const response = await fetch(`${url}/events${id === undefined ? '?cursor=0' : ''}`, {
    headers: { ...headers, Accept: 'text/event-stream', ...(id === undefined ? {} : { 'Last-Event-ID': id }) },
    signal: stream.signal,
  });
  assert.equal(response.status, 200);
  const told: Told[] = [];
  let [rest, quietSince] = ['', performance.now()];
  const decoder = new TextDecoder();
  const read = (async () => {
    for await (const chunk of response.body ?? []) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts.filter((one) => one.startsWith('id: '))) {
        const event = JSON.parse(part.slice(part.indexOf('\ndata: ') + 7));
        if (event.type === 'documentCreated') told.push({ id: event.id, document: event.data.$id });
      }
      quietSince = performance.now();
    }
  })().catch(() => {});
  const until = performance.now() + 30_000;
  const isQuiet = () => performance.now() - quietSince > 3000;
  while (!isQuiet() || (told.length < atLeast && performance.now() < until)) await sleep(100);
  stream.abort();
  await read;
  return told;
}

/** Creates documents one after the other; one whose answer is lost is asked for again under its id. */
async function write(from: number): Promise<void> {
  for (let at = from; at < changes; at += writers)
    for (;;) {
      const body = JSON.stringify({ documentId: `n${at}`, data: {} });
      const answer = await fetch(`${url}/databases/d/collections/c/documents`, {
        method: 'POST',
        headers: asJson,
        body,
      }).catch(() => undefined);
      if (answer?.status === 201 || answer?.status === 409) break;
      await sleep(100);
    }
}

test('socket and feed together hold each of 2000 events once', async () => {
  const before: Told[] = [];
  const first = await listen(before);
  const writing = Promise.all(Array.from({ length: writers }, (_, at) => write(at)));
  while (before.length < changes / 4) await sleep(20);
  const closed = new Promise<void>((resolve) => first.once('close', () => resolve()));
  server.signal('SIGKILL');
  await Promise.all([server.ended, closed]);
  server = await place.serve();
  const later: Told[] = [];
  const second = await listen(later);
  await writing;
  const gap = await feedAfter(before.at(-1)?.id, changes - before.length);
  second.terminate();

  assert.ok(before.length >= changes / 4 && before.length < changes, `${before.length}`);
  for (const told of [before, later, gap]) assert.equal(new Set(told.map(({ id }) => id)).size, told.length);
  const all = new Map([...before, ...later, ...gap].map((one) => [one.id, one.document]));
  assert.equal(all.size, changes);
  assert.equal(new Set(all.values()).size, changes);
  // The feed has the whole gap, so whatever the new socket was told is in it.
  const known = new Set(gap.map(({ id }) => id));
  assert.ok(later.every(({ id }) => known.has(id)));
});
