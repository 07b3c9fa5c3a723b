// Clients that subscribe to as much as they may: their subscriptions take a bounded part of a server of 512 MiB, and telling them holds nobody up.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { realtimeLimits } from '#src/contract/limits.js';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const place = await install();
after(() => place.dispose());
Object.assign(place.env, { SVC_RATE_LIMIT: 'off', NODE_OPTIONS: '--max-old-space-size=512' });
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
await place.json(['database', 'create', 'd', '--project', 'shop', '--id', 'd']);
const { secret } = await place.json<{ secret: string }>([
  ...['apikey', 'create', '--project', 'shop', '--name', 'k', '--scopes', 'all'],
]);
const { url, pid } = await place.serve();
const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
const post = async (path: string, body: object) => {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, await answer.text());
};
await post('/databases/d/collections', { collectionId: 'c', name: 'c', permissions: ['read("any")'] });
await post('/databases/d/collections/c/attributes/string', { key: 'text', size: 100, required: false });
const channel = 'databases.d.collections.c.documents';
const longChannel = `databases.${'d'.repeat(36)}.collections.${'c'.repeat(36)}.documents.${'x'.repeat(43)}`;
const residentBytes = () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

interface Client {
  /** The code with which the socket was closed. */
  closed?: number;
  /** Events that were told. */
  events: number;
  /** Subscribes, and returns what is answered; undefined where the socket is closed. */
  subscribe(data: readonly object[]): Promise<{ type: string; data: { message?: string } } | undefined>;
  send(text: string): void;
  end(): void;
}

async function open(): Promise<Client> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime?project=shop`);
  after(() => socket.terminate());
  const answers: { type: string; data: { message?: string } }[] = [];
  const client: Client = {
    events: 0,
    send: (text) => socket.send(text),
    end: () => socket.close(),
    subscribe: async (data) => {
      const count = answers.length;
      socket.send(JSON.stringify({ type: 'subscribe', data }));
      for (let tries = 0; answers.length === count && client.closed === undefined && tries < 1500; tries++)
        await sleep(10);
      return answers[count];
    },
  };
  socket.on('error', () => {});
  socket.on('close', (code) => {
    client.closed = code;
  });
  socket.on('message', (text) => {
    const message = JSON.parse(String(text));
    if (message.type === 'event') client.events += 1;
    else answers.push(message);
  });
  for (let tries = 0; answers.length === 0 && tries < 1500; tries++) await sleep(10);
  assert.equal(answers.shift()?.type, 'connected');
  return client;
}

/** Subscriptions with so many conditions each, none of which a document fits. */
const unfitting = (subscriptions: number, conditions: number) =>
  Array.from({ length: subscriptions }, (_, at) => ({
    subscriptionId: `s${at}`,
    channels: [channel],
    queries: [
      JSON.stringify({
        method: 'equal',
        attribute: 'text',
        values: Array.from({ length: conditions }, (_, n) => `${at} ${n}`),
      }),
    ],
  }));

test('a socket has a bounded number of conditions, and of bytes', async () => {
  const client = await open();
  const each = realtimeLimits.conditionsOfSocket / 10 - 1;
  assert.equal((await client.subscribe(unfitting(10, each)))?.type, 'response');
  const more = await client.subscribe([{ ...unfitting(1, 10)[0], subscriptionId: 'more' }]);
  assert.match(more?.data.message ?? '', /at most 500 conditions and values/);
  // What takes the place of an earlier one does not count twice.
  assert.equal((await client.subscribe(unfitting(10, each)))?.type, 'response');
  const long = { subscriptionId: 'long', channels: [longChannel], queries: [] };
  const texts = Array.from({ length: 30 }, (_, at) =>
    JSON.stringify({ method: 'equal', attribute: 'text', values: [`${at}`.padEnd(4000, 'x')] }),
  );
  const other = await open();
  assert.match((await other.subscribe([{ ...long, queries: texts }]))?.data.message ?? '', /too long/);
  assert.equal((await other.subscribe([long]))?.type, 'response');
});

test('the subscriptions of an address take a bounded part of the memory, and are free again when their sockets are closed', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const before = residentBytes();
  const queries = Array.from({ length: 15 }, (_, at) =>
    JSON.stringify({ method: 'equal', attribute: 'text', values: [`${at}`.padEnd(4000, 'x')] }),
  );
  const clients: Client[] = [];
  const count = 300;
  for (let at = 0; at < count; at++) {
    const client = await open();
    clients.push(client);
    await client.subscribe([{ subscriptionId: `s${at}`, channels: [channel], queries }]);
  }
  const closed = clients.filter((client) => client.closed === 1013);
  t.diagnostic(
    `${closed.length} of ${count} sockets closed, ${Math.round((residentBytes() - before) / 2 ** 20)} MiB more`,
  );
  assert.ok(closed.length > 0 && closed.length < count - 100, `${closed.length}`);
  assert.equal(clients.filter((client) => client.closed !== undefined && client.closed !== 1013).length, 0);
  assert.ok(residentBytes() - before < 150 * 2 ** 20, `${residentBytes() - before}`);
  for (const client of clients) client.end();
  for (let tries = 0; clients.some((client) => client.closed === undefined) && tries < 1500; tries++) await sleep(10);
  const answer = await (await open()).subscribe([{ subscriptionId: 'later', channels: [channel], queries }]);
  assert.equal(answer?.type, 'response');
});

test('others are served while changes go to sockets with the maximum of conditions', async (t) => {
  const sockets = 100;
  const documents = 100;
  const clients = await Promise.all(Array.from({ length: sockets }, open));
  const subscriptions = unfitting(5, realtimeLimits.conditionsOfSocket / 5 - 2).map((one, at) =>
    at === 0 ? { ...one, queries: [] } : one,
  );
  for (const client of clients) assert.equal((await client.subscribe(subscriptions))?.type, 'response');
  const latencies: number[] = [];
  let isOver = false;
  const bystander = (async () => {
    while (!isOver) {
      const begun = performance.now();
      assert.equal((await fetch(`${url}/healthz`)).status, 200);
      latencies.push(performance.now() - begun);
      await sleep(5);
    }
  })();
  await post('/databases/d/collections/c/documents', {
    documents: Array.from({ length: documents }, (_, at) => ({ $id: `d${at}`, text: 'none' })),
  });
  const isTold = () => clients.every(({ events }) => events === documents);
  for (let tries = 0; !isTold() && tries < 6000; tries++) await sleep(10);
  isOver = true;
  await bystander;
  assert.ok(isTold(), JSON.stringify(clients.map(({ events, closed }) => [events, closed])));
  const longest = Math.max(...latencies);
  t.diagnostic(`${Math.round(longest)} ms at most for another request, of ${latencies.length}`);
  assert.ok(longest < 3000, `${longest}`);
});

test('long messages count for the address as many short ones do', async () => {
  const clients = await Promise.all(Array.from({ length: 3 }, open));
  const long = JSON.stringify({ type: 'ping', data: 'x'.repeat(realtimeLimits.frameBytes - 100) });
  // None of them sends more messages than a socket may.
  for (const client of clients) for (let at = 0; at < realtimeLimits.messages - 20; at++) client.send(long);
  for (let tries = 0; !clients.some(({ closed }) => closed === 1008) && tries < 1500; tries++) await sleep(10);
  assert.ok(clients.some(({ closed }) => closed === 1008));
});
