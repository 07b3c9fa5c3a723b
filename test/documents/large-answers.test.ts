// A server with little memory whose documents are large: no answer is larger than the bound, however it is asked for, and the server stays.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerLimits } from '#src/contract/limits.js';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { openSocket } from '../harness/socket.js';

const shop = ['--project', 'shop'];
const here = [...shop, '--database', 'main'];
const path = '/databases/main/collections/large/documents';
const most = 16_777_216;
/** Their list is ten times as large as an answer may be. */
const documents = 40;

let place: Installation;
let server: Server;
let headers: Record<string, string>;

before(async () => {
  place = await install();
  Object.assign(place.env, { SVC_RATE_LIMIT: 'off', NODE_OPTIONS: '--max-old-space-size=512' });
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['database', 'create', 'Main', ...shop, '--id', 'main']);
  await place.json(['collection', 'create', 'Large', ...here, '--id', 'large']);
  const attribute = (key: string, ...more: string[]) =>
    place.json(['collection', 'add-attribute', 'large', key, ...here, '--type', 'string', ...more]);
  await attribute('body', '--size', '5000000');
  await attribute('title', '--size', '20');
  headers = await aKey();
  server = await place.serve();
  const body = 'x'.repeat(4_190_000);
  for (let at = 0; at < documents; at++)
    assert.equal((await send('POST', path, { documentId: `d${at}`, data: { title: `t${at}`, body } })).status, 201);
});

after(async () => {
  await place.dispose();
});

/** The headers of a further server key. */
async function aKey(): Promise<Record<string, string>> {
  const create = ['apikey', 'create', ...shop, '--name', 't', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(create);
  return { 'X-Service-Project': 'shop', 'X-Service-Key': secret, 'Content-Type': 'application/json' };
}

async function send(
  method: string,
  to: string,
  body?: unknown,
): Promise<{ status: number; text: string; bytes: number }> {
  const response = await fetch(server.url + to, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, text: bytes.subarray(0, 2000).toString(), bytes: bytes.length };
}

const list = (...queries: object[]) =>
  `${path}?${queries.map((query, at) => `queries[${at}]=${encodeURIComponent(JSON.stringify(query))}`).join('&')}`;
const limit = (count: number) => ({ method: 'limit', values: [count] });
const tooLarge = (answer: { status: number; text: string }) => {
  assert.deepEqual([answer.status, JSON.parse(answer.text).type], [400, 'general_answer_too_large'], answer.text);
  assert.match(answer.text, /limit/);
  assert.match(answer.text, /select/);
};
const titles = { method: 'select', values: ['title'] };
const isAlive = async () => assert.equal((await send('GET', list(limit(1), titles))).status, 200);

test(`a list of ${documents} documents of 4 MB is refused, and says what to do`, async () => {
  for (const more of [[], [{ method: 'orderDesc', attribute: 'title' }], [{ method: 'cursorAfter', values: ['d0'] }]])
    tooLarge(await send('GET', list(limit(documents), ...more)));
  const titles = await send('GET', list(limit(documents), { method: 'select', values: ['title'] }));
  assert.equal(titles.status, 200);
  const three = await send('GET', list(limit(3)));
  assert.ok(three.status === 200 && three.bytes > 12_000_000 && three.bytes < most);
});

test('twenty aliases over four such documents share one answer', async () => {
  const of = 'databaseId: "main", collectionId: "large"';
  const four = ['{\\"method\\":\\"limit\\",\\"values\\":[3]}'].map((text) => `"${text}"`);
  const field = (at: number) => `a${at}: documentList(${of}, queries: [${four}]) { total documents { data } }`;
  const aliases = { query: `{ ${Array.from({ length: 20 }, (_, at) => field(at)).join(' ')} }` };
  const answer = await send('POST', '/graphql', aliases);
  assert.ok(answer.bytes < most + 100_000, String(answer.bytes));
  assert.match(answer.text, /general_answer_too_large/);
  const batch = await send('POST', '/graphql', Array(10).fill({ query: `{ ${field(0)} }` }));
  assert.ok(batch.bytes < most + 100_000, String(batch.bytes));
  const all = await send('POST', '/graphql', Array(10).fill(aliases));
  assert.ok(all.bytes < most + 1_000_000, String(all.bytes));
  const names = Array.from({ length: 30 }, (_, at) => `b${at}: data`).join(' ');
  for (const skip of ['', ' @skip(if: false)']) {
    const one = await send('POST', '/graphql', {
      query: `{ documentGet(${of}, documentId: "d1")${skip} { ${names} } }`,
    });
    assert.ok(one.bytes < most, String(one.bytes));
    assert.match(one.text, /general_answer_too_large/);
  }
  const single = await send('POST', '/graphql', { query: `{ documentGet(${of}, documentId: "d1") { data } }` });
  assert.ok(single.bytes > 4_000_000);
  await isAlive();
});

test('many callers at once are answered one after the other, or told to come again', async () => {
  const asks = [
    ...Array.from({ length: 64 }, (_, at) => `${path}/d${at % documents}`),
    ...Array.from({ length: 32 }, () => list(limit(3))),
    ...Array.from({ length: 16 }, () => list(limit(documents))),
  ];
  const answers = await Promise.all(asks.map((to) => send('GET', to)));
  const statuses = new Set(answers.map(({ status }) => status));
  assert.ok(
    [...statuses].every((status) => [200, 400, 503].includes(status)),
    [...statuses].join(),
  );
  for (const answer of answers.slice(-16)) if (answer.status !== 503) tooLarge(answer);
  assert.ok(answers.filter(({ status }) => status === 200).length >= 32, String(answers.length));
  await isAlive();
});

test('readers who do not read hold neither memory nor others up', async () => {
  const { host } = new URL(server.url);
  const [other, bystander] = [await aKey(), await aKey()];
  const sockets = [];
  for (const of of [headers, other])
    for (let at = 0; at < 20; at++) {
      const head = Object.entries({ ...of, Host: host }).map(([name, value]) => `${name}: ${value}\r\n`);
      const socket = await openSocket({ origin: `http://${host}` } as never);
      socket.pause();
      socket.on('error', () => {});
      socket.write(`GET /v1${list(limit(4))} HTTP/1.1\r\n${head.join('')}\r\n`);
      sockets.push(socket);
    }
  await sleep(answerLimits.giveWayMs + 2000);
  for (let round = 0; round < 5; round++) await isAlive();
  // All the room is held: those who take nothing are cut off for others.
  for (let round = 0; round < 3; round++) {
    const response = await fetch(server.url + list(limit(4)), { headers: bystander });
    assert.equal(response.status, 200);
    assert.ok((await response.arrayBuffer()).byteLength > 16_000_000);
  }
  for (const socket of sockets) socket.destroy();
  await sleep(500);
  assert.equal((await send('GET', list(limit(3)))).status, 200);
});

test('a steady reader of a large response is not cut off for others', async () => {
  const { host } = new URL(server.url);
  const [slow, other] = [await aKey(), await aKey()];
  const head = Object.entries({ ...slow, Host: host }).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `GET /v1${list(limit(4))} HTTP/1.1\r\nConnection: close\r\n${head.join('')}\r\n`;
  const readers = Array.from({ length: 2 }, async () => {
    const socket = await openSocket({ origin: `http://${host}` } as never);
    let bytes = 0;
    socket.write(request);
    // Two megabytes a second at most.
    for await (const chunk of socket) {
      bytes += chunk.length;
      await sleep(chunk.length / 2000);
    }
    return bytes;
  });
  let isOver = false;
  const others = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const response = await fetch(server.url + list(limit(4)), { headers: other });
        await response.arrayBuffer();
        assert.ok([200, 503].includes(response.status));
      }
    }),
  );
  for (const bytes of await Promise.all(readers)) assert.ok(bytes > 16_760_000, String(bytes));
  isOver = true;
  await others;
});

test('a document cannot grow beyond the largest answer', async () => {
  const title = async () =>
    JSON.parse(
      (await send('GET', `${path}/small?queries[]=${encodeURIComponent('{"method":"select","values":["title"]}')}`))
        .text,
    );
  for (let at = 0; at < 5; at++)
    await place.json([
      'collection',
      'add-attribute',
      'large',
      `more${at}`,
      ...here,
      '--type',
      'string',
      '--size',
      '5000000',
    ]);
  assert.equal((await send('POST', path, { documentId: 'small', data: { title: 'small' } })).status, 201);
  const statuses: number[] = [];
  for (let at = 0; at < 5; at++)
    statuses.push((await send('PATCH', `${path}/small`, { data: { [`more${at}`]: '"'.repeat(2_000_000) } })).status);
  // Each quote is two bytes of JSON.
  assert.deepEqual(statuses, [200, 200, 200, 200, 400]);
  assert.equal((await title()).title, 'small');
  // Documents from before the new attributes are printed anew when they are read.
  tooLarge(await send('GET', list(limit(documents))));
  assert.equal((await send('GET', `${path}/d7`)).status, 200);
  assert.equal((await send('DELETE', `${path}/small`)).status, 204);
  await isAlive();
});

test('changes with unread answers use a bounded part of the memory, and do not block reads of others', async () => {
  const [other, bystander] = [await aKey(), await aKey()];
  assert.equal((await send('POST', path, { documentId: 'wide', data: { title: 'wide' } })).status, 201);
  for (let at = 0; at < 4; at++)
    assert.equal((await send('PATCH', `${path}/wide`, { data: { [`more${at}`]: 'x'.repeat(4_100_000) } })).status, 200);
  const sockets: Socket[] = [];
  const statuses: number[] = [];
  const askWithoutReading = async (method: string, key: Record<string, string>, body = '') => {
    const { host } = new URL(server.url);
    const socket = await openSocket({ origin: `http://${host}` } as never);
    socket.on('error', () => {});
    sockets.push(socket);
    const head = Object.entries({ ...key, Host: host, 'Content-Length': body.length });
    const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.write(`${method} /v1${path}/wide HTTP/1.1\r\n${lines}\r\n${body}`);
    const [answer] = (await once(socket, 'data')) as [Buffer | string];
    socket.pause();
    statuses.push(Number(String(answer).slice(9, 12)));
  };
  for (let at = 0; at < 8; at++)
    await askWithoutReading('PATCH', headers, JSON.stringify({ data: { title: `w${at}` } }));
  assert.deepEqual(statuses, [200, 200, 503, 503, 503, 503, 503, 503]);
  for (let at = 0; at < 2; at++) await askWithoutReading('GET', other);
  for (let round = 0; round < 3; round++) {
    const started = performance.now();
    assert.equal((await fetch(`${server.url}${path}/small`, { headers: bystander })).status, 404);
    assert.equal((await fetch(server.url + list(limit(1), titles), { headers: bystander })).status, 200);
    assert.ok(performance.now() - started < 5000);
  }
  for (const socket of sockets) socket.destroy();
});

test('changes of large documents that share a commit are answered, and so are those beside them', async () => {
  const wide = await Promise.all(
    Array.from({ length: 70 }, (_, at) => send('PATCH', `${path}/wide`, { data: { title: `v${at}` } })),
  );
  assert.deepEqual([...new Set(wide.map(({ status }) => status))].sort(), [200, 503]);
  await isAlive();
});
