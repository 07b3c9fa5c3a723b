// Slow clients beside others: who reads responses or streams slowly holds no event up for others, and who reads on is not cut off.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const shop = ['--project', 'shop'];
const documents = '/databases/d/collections/c/documents';
const channel = 'databases.d.collections.c.documents';
const parts = ['a', 'b', 'c', 'e'];
/** The event of the large document has a little less than the largest response. */
const partLength = 4_100_000;
const largeBytes = parts.length * partLength;

/** Bytes per second. In the long form a read takes more than a minute: longer than a client may leave a ping without an answer. */
const slowRate = process.env.SVC_TEST_ROUNDS === undefined ? 1_500_000 : 200_000;

let place: Installation;
let url: string;
let keys: string[];
let marks = 0;

before(async () => {
  place = await install();
  Object.assign(place.env, { SVC_RATE_LIMIT: 'off' });
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['database', 'create', 'd', ...shop, '--id', 'd']);
  const { url: served } = await place.serve();
  url = served;
  keys = [];
  for (let at = 0; at < 5; at++) {
    const create = ['apikey', 'create', ...shop, '--name', `k${at}`, '--scopes', 'all'];
    keys.push((await place.json<{ secret: string }>(create)).secret);
  }
  const attributes = parts.map((key) => ({ key, type: 'string', size: partLength, required: false }));
  const collection = { collectionId: 'c', name: 'c', permissions: ['read("any")'], attributes };
  assert.equal(await send('POST', '/databases/d/collections', collection), 201);
});

after(() => place.dispose());

const headersOf = (key = keys[0]) => ({ 'X-Service-Project': 'shop', 'X-Service-Key': String(key) });

async function send(method: string, path: string, body?: object, key = keys[0]): Promise<number> {
  const response = await fetch(url + path, {
    method,
    headers: { ...headersOf(key), 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Makes a document, a part of its text at a time, as a request has 4 MiB at most. */
async function makeLarge(documentId: string): Promise<void> {
  assert.equal(await send('POST', documents, { documentId, data: {} }), 201);
  for (const part of parts)
    assert.equal(await send('PATCH', `${documents}/${documentId}`, { data: { [part]: part.repeat(partLength) } }), 200);
}

/** Sends a request over a connection of its own, of which nothing is read beyond the first bytes. */
async function request(path: string, headers: Record<string, string>): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  after(() => socket.destroy());
  socket.on('error', () => {});
  const lines = Object.entries({ Host: `${hostname}:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`GET /v1${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  const [first] = await new Promise<[Buffer]>((resolve) => socket.once('data', (part) => resolve([part])));
  socket.pause();
  assert.match(first.toString('latin1'), /^HTTP\/1\.1 (200|101)/);
  return socket;
}

/** Opens a stream, of which nothing is read. */
const openStream = (key: string | undefined, cursor: string) =>
  request(`/events?cursor=${cursor}`, { ...headersOf(key), Accept: 'text/event-stream' });

/** Opens a socket that subscribes to the documents, of which nothing is read further. */
async function openSocket(): Promise<Socket> {
  const key = Buffer.alloc(16, 1).toString('base64');
  const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
  const socket = await request('/realtime?project=shop', { ...upgrade, 'Sec-WebSocket-Key': key });
  const message = Buffer.from(JSON.stringify({ type: 'subscribe', data: [{ channels: [channel] }] }));
  // A text frame of a client (RFC 6455, section 5.2), masked with zeros.
  socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | message.length, 0, 0, 0, 0]), message]));
  await sleep(1000);
  return socket;
}

/** The number of the last event, once every event from before has its number. */
async function lastNumber(): Promise<string> {
  marks += 1;
  assert.equal(await send('POST', documents, { documentId: `mark-${marks}`, data: {} }), 201);
  const resource = `databases/d/collections/c/documents/mark-${marks}`;
  for (;;) {
    const response = await fetch(`${url}/events?resource=${resource}&wait=5`, { headers: headersOf() });
    const { events } = (await response.json()) as { events: { sequence: number }[] };
    if (events[0] !== undefined) return String(events[0].sequence);
  }
}

/** Follows the feed and the socket of a client that reads at once; both tell of documents by their ids and of what became of them. */
async function follow(key: string | undefined, cursor: string) {
  const told = { stream: new Set<string>(), socket: new Set<string>() };
  const aborted = new AbortController();
  const headers = { ...headersOf(key), Accept: 'text/event-stream' };
  const response = await fetch(`${url}/events?cursor=${cursor}`, { headers, signal: aborted.signal });
  let rest = '';
  const read = async () => {
    for await (const text of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, data] = /^id: .*\ndata: (.*)$/s.exec(block) ?? [];
        if (data === undefined) continue;
        const event = JSON.parse(data);
        told.stream.add(`${event.type} ${event.data.$id}`);
      }
    }
  };
  read().catch(() => {});
  const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime?project=shop`);
  const subscribed = new Promise<void>((resolve) => {
    socket.on('message', (text) => {
      const { type, data } = JSON.parse(String(text));
      if (type === 'connected') socket.send(JSON.stringify({ type: 'subscribe', data: [{ channels: [channel] }] }));
      else if (type === 'response') resolve();
      else told.socket.add(`${data.events[0].endsWith('delete') ? 'documentDeleted' : 'other'} ${data.payload.$id}`);
    });
  });
  await subscribed;
  const close = () => {
    aborted.abort();
    socket.terminate();
  };
  after(close);
  return { told, close };
}

/** Waits until something holds, for a time that is far more than it should take. */
async function until(holds: () => boolean, seconds: number, what: () => string): Promise<void> {
  for (const end = performance.now() + seconds * 1000; !holds(); await sleep(50))
    assert.ok(performance.now() < end, what());
}

/** Reads some bytes at a time, so many in a second; resolves with how many there were when they are as many as wanted, or the end has come. */
async function readSlowly(socket: Socket, bytesPerSecond: number, wanted: number): Promise<number> {
  let count = 0;
  let isClosed = false;
  socket.once('close', () => {
    isClosed = true;
  });
  socket.on('end', () => {
    isClosed = true;
  });
  const started = performance.now();
  while (count < wanted && !isClosed) {
    const allowed = Math.floor(((performance.now() - started) / 1000) * bytesPerSecond) - count;
    if (allowed > 0) {
      const part: Buffer | null = socket.read(Math.min(allowed, socket.readableLength)) ?? null;
      count += part?.length ?? 0;
      if (part === null) socket.read(0);
    }
    await sleep(20);
  }
  return count;
}

test('a client that reads a large event slowly, but all the time, gets the whole of it, by a stream and by a socket', async () => {
  await makeLarge('slow');
  const [stream, socket] = [await openStream(keys[0], await lastNumber()), await openSocket()];
  assert.equal(await send('DELETE', `${documents}/slow`), 204);
  const read = [stream, socket].map((one) => readSlowly(one, slowRate, largeBytes));
  const counts = await Promise.all(read);
  assert.ok(Math.min(...counts) >= largeBytes, `cut off after ${counts} bytes`);
});

test('readers of lists who do not read hold no event up', async () => {
  await makeLarge('large');
  const { told, close } = await follow(keys[4], await lastNumber());
  const readers: Socket[] = [];
  for (const key of keys.slice(0, 2))
    for (let at = 0; at < 2; at++) readers.push(await request(documents, headersOf(key)));
  // Nobody waits for their room, so that they keep it.
  await until(
    () => readers.every(({ readableLength }) => readableLength > 10_000),
    60,
    () => 'nothing was sent',
  );
  assert.equal(await send('DELETE', `${documents}/large`), 204);
  assert.equal(await send('POST', documents, { documentId: 'small', data: {} }), 201);
  const isTold = () =>
    told.stream.has('documentDeleted large') &&
    told.stream.has('documentCreated small') &&
    told.socket.has('documentDeleted large') &&
    told.socket.has('other small');
  await until(isTold, 120, () => JSON.stringify([...told.stream, ...told.socket]));
  assert.ok(readers.every(({ destroyed }) => !destroyed));
  for (const reader of readers) reader.destroy();
  close();
});

test('streams that are not read make way for those that are', async () => {
  const cursor = await lastNumber();
  await makeLarge('held');
  const last = await lastNumber();
  assert.equal(await send('DELETE', `${documents}/held`), 204);
  const streams: Socket[] = [];
  for (const key of keys.slice(0, 4)) streams.push(await openStream(key, last));
  // Each has begun with the large event.
  await until(
    () => streams.every(({ readableLength }) => readableLength > 10_000),
    60,
    () => 'nothing was sent',
  );
  const { told, close } = await follow(keys[4], cursor);
  const isTold = () => told.stream.has('documentCreated held') && told.stream.has('documentDeleted held');
  await until(isTold, 120, () => JSON.stringify([...told.stream]));
  close();
});

test('two streams of one key that read on both get a large event, one after the other', async () => {
  await makeLarge('shared');
  const cursor = await lastNumber();
  assert.equal(await send('DELETE', `${documents}/shared`), 204);
  const streams = [await openStream(keys[0], cursor), await openStream(keys[0], cursor)];
  const read = streams.map((stream) => readSlowly(stream, 3_000_000, largeBytes));
  const counts = await Promise.all(read);
  assert.ok(Math.min(...counts) >= largeBytes, `cut off after ${counts} bytes`);
});
