// Addresses, methods, request ids and requests that are no HTTP.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { serverLimits } from '#src/contract/limits.js';
import { numbered } from '../feed/sse.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { exchangeBytes, openSocket, parseAnswer, received, requestText } from '../harness/socket.js';
import { eventually } from '../webhooks/setup.js';

const target = await startAppliance();
const guest = createClient(target);
const project = `X-Service-Project: ${target.project.id}`;

// It waits for the server's patience to end, so it begins first; one half of the suite is enough.
const slow = databaseUnderTest === 'sqlite' ? waitForHeaders() : undefined;
async function waitForHeaders() {
  const socket = await openSocket(target);
  const started = performance.now();
  socket.write('GET /v1/account HTTP/1.1\r\nHost: localhost\r\nX-Slow');
  const text = await received(socket);
  return { text, seconds: (performance.now() - started) / 1000 };
}

for (const path of [
  '//nothing',
  '/nothing',
  '/ACCOUNT',
  '/account/sessions/a/b',
  '//account',
  '/%2e%2e/etc/passwd',
  '/account%2fsessions',
]) {
  test(`${path} is no route`, async () => {
    (await guest.get(path)).refused(404, 'general_route_not_found');
    (await guest.post(path, {})).refused(404, 'general_route_not_found');
  });
}

const slash = 'There is no such route: the path has a slash too many. Check the end of the endpoint.';
const base = 'There is no such route: paths begin with /v1. Use an endpoint that ends in /v1.';
const nothing = 'There is no such route.';
for (const [path, message] of [
  ['/v1/account//', slash],
  ['/v1//account', slash],
  ['//v1/databases/one//collections/two/documents', slash],
  ['/account', base],
  ['/account/', base],
  ['/databases/one/collections/two/documents', base],
  ['/realtime', base],
  ['/v2/account', nothing],
  ['/v1/v1/account', nothing],
  ['/nothing/', nothing],
] as const)
  test(`at ${path} a client gets: ${message}`, async () => {
    const answer = parseAnswer(await exchangeBytes(target, requestText('GET', path, [project])));
    assert.equal(answer.status, 404);
    assert.equal(answer.body.message, message);
  });

test('an address that cannot be decoded is refused, not an error of ours', async () => {
  for (const path of [
    '/v1/account/sessions/%ZZ',
    '/v1/%',
    '/v1/account/sessions/%C0%AF',
    '//',
    '/v1/account?%ZZ=%&a=%C0',
  ]) {
    const { status } = parseAnswer(await exchangeBytes(target, requestText('GET', path, [project])));
    assert.ok(status >= 400 && status < 500, `${path}: ${status}`);
  }
  target.verifyAnswers();
});

const methods: [string, string, string][] = [
  ['PUT', '/account', 'GET, POST, DELETE, HEAD, OPTIONS'],
  ['POST', '/account/prefs', 'GET, PATCH, HEAD, OPTIONS'],
  ['DELETE', '/account/name', 'PATCH, OPTIONS'],
  ['PATCH', '//healthz', 'GET, HEAD, OPTIONS'],
  ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
  ['HEAD', '/account/name', 'PATCH, OPTIONS'],
  ['PROPFIND', '/account', 'GET, POST, DELETE, HEAD, OPTIONS'],
  ['PUT', '/account/sessions', 'GET, POST, DELETE, HEAD, OPTIONS'],
];
for (const [method, path, allow] of methods) {
  test(`${method} ${path} gets 405 with the allowed methods`, async () => {
    const answer = (await guest.request(method, path)).expect(405);
    if (method !== 'HEAD') answer.refused(405, 'general_method_unsupported');
    assert.equal(answer.headers.get('Allow'), allow);
  });
}

test('TRACE, TRACK and CONNECT do nothing', async () => {
  const traced = parseAnswer(await exchangeBytes(target, requestText('TRACE', '/v1/account', ['X-Secret: echo-me'])));
  traced.refused(405, 'general_method_unsupported');
  assert.ok(!traced.text.includes('echo-me'));
  parseAnswer(await exchangeBytes(target, requestText('TRACK', '/v1/account'))).refused(
    400,
    'general_argument_invalid',
  );
  const tunnel = await exchangeBytes(target, 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assert.match(tunnel, /^HTTP\/1\.1 405 [\s\S]*Connection: close[\s\S]*"type":"general_method_unsupported"/);
});

test('no header changes the method', async () => {
  const { client } = await aLoggedInUser(target);
  (await client.request('POST', '/account/prefs', {}, { 'X-HTTP-Method-Override': 'PATCH' })).expect(405);
  (await client.get('/account', { 'X-HTTP-Method-Override': 'DELETE' })).expect(200);
});

test('HEAD answers like GET, without a body', async () => {
  const { client } = await aLoggedInUser(target);
  const [head, get] = [await client.request('HEAD', '/account'), await client.get('/account')];
  assert.equal(head.expect(200).text, '');
  for (const name of ['Content-Type', 'Content-Length', 'Vary', 'Cache-Control'])
    assert.equal(head.headers.get(name), get.headers.get(name), name);
  assert.equal(get.headers.get('Content-Length'), String(Buffer.byteLength(get.text)));
  assert.equal((await guest.request('HEAD', '/account')).status, 401);
});

const ids: [string, string, boolean][] = [
  ['letters and signs', 'Trace-7_a.b:c', true],
  ['one character', 'x', true],
  ['128 characters', 'x'.repeat(128), true],
  ['129 characters', 'x'.repeat(129), false],
  ['a space', 'a b', false],
  ['a comma', 'a,b', false],
  ['markup', '<script>', false],
  ['a letter beyond ASCII', 'é', false],
  ['nothing', '', false],
];
for (const [name, id, echoed] of ids) {
  test(`a request id of ${name} is ${echoed ? 'echoed' : 'replaced'}, on success and on failure`, async () => {
    for (const path of ['//healthz', '/account', '/nothing']) {
      const answer = await guest.get(path, { 'X-Request-Id': id });
      const given = answer.headers.get('X-Request-Id') ?? '';
      if (echoed) assert.equal(given, id);
      else assert.match(given, /^[0-9a-f]{20}$/);
    }
  });
}

test('request ids of the service differ', async () => {
  const given = await Promise.all(Array.from({ length: 20 }, () => guest.get('//healthz')));
  assert.equal(new Set(given.map(({ headers }) => headers.get('X-Request-Id'))).size, 20);
});

const malformed: [string, string][] = [
  ['no HTTP at all', 'good morning\r\n\r\n'],
  [
    'a length and chunks',
    requestText('POST', '/v1/account', ['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
  ],
  ['two lengths', requestText('POST', '/v1/account', ['Content-Length: 5', 'Content-Length: 6'], 'hello!')],
  ['a length that is no number', requestText('POST', '/v1/account', ['Content-Length: five'], 'hello')],
  ['a header name with a space', requestText('GET', '/v1/account', ['X Bad: 1'])],
  ['bare line feeds', requestText('POST', '/v1/account', ['Transfer-Encoding: chunked'], '5\nhello\n0\n\n')],
];
for (const [name, bytes] of malformed) {
  test(`${name} is answered 400 with the envelope and a request id, and the connection closes`, async () => {
    const answer = parseAnswer(await exchangeBytes(target, bytes)).refused(400, 'general_argument_invalid');
    assert.match(answer.headers.get('X-Request-Id') ?? '', /^[0-9a-f]{20}$/);
    assert.equal(answer.headers.get('Connection'), 'close');
  });
}

const header = (bytes: number) => requestText('GET', '/v1/account', [`X-Large: ${'x'.repeat(bytes)}`]);
for (const [name, bytes] of [
  ['17 KiB', header(17_000)],
  ['2 MiB', header(2_000_000)],
  ['17 KiB without an end', header(17_000).slice(0, -8)],
  [
    'many small fields',
    requestText(
      'GET',
      '/v1/account',
      Array.from({ length: 2000 }, (_, at) => `X-${at}: ${at}`),
    ),
  ],
] as const) {
  test(`a header block of ${name} is answered 431 with the envelope, and the connection closes`, async () => {
    const started = performance.now();
    const answer = parseAnswer(await exchangeBytes(target, bytes)).refused(431, 'general_headers_too_large');
    assert.match(answer.headers.get('X-Request-Id') ?? '', /^[0-9a-f]{20}$/);
    assert.equal(answer.headers.get('Connection'), 'close');
    assert.ok(performance.now() - started < 10_000);
  });
}

test('of more than 100 headers none is left out in silence', async () => {
  const fields = (count: number) => Array.from({ length: count - 2 }, (_, at) => `X-${at}: ${at}`);
  const path = '/v1/healthz';
  parseAnswer(await exchangeBytes(target, requestText('GET', path, fields(100)))).expect(200);
  for (const count of [101, 102, 300]) {
    const answer = parseAnswer(await exchangeBytes(target, requestText('GET', path, fields(count))));
    answer.refused(431, 'general_headers_too_large');
    assert.equal(answer.headers.get('Connection'), 'close');
  }
  target.verifyAnswers();
});

const hosts: [string, string[]][] = [
  ['two hosts', ['Host: localhost', 'Host: other.example']],
  ['no host', []],
  ['the same host twice', ['Host: localhost', 'Host: localhost']],
  ['two hosts in other letters, far apart', ['hOST: localhost', ...Array(50).fill('X-A: b'), 'HOST: localhost']],
];
for (const [name, lines] of hosts) {
  test(`a request with ${name} is answered 400, and the connection closes`, async () => {
    for (const path of ['/v1/healthz', '/v1/account']) {
      const text = [`GET ${path} HTTP/1.1`, ...lines, project, '', ''].join('\r\n');
      const answer = parseAnswer(await exchangeBytes(target, text)).refused(400, 'general_argument_invalid');
      assert.match(answer.string('message'), lines.length === 0 ? /no Host/ : /more than one Host/);
      assert.equal(answer.headers.get('Connection'), 'close');
    }
    target.verifyAnswers();
  });
}

test('a request of HTTP/1.0 without a host or with an odd expectation is answered like any other', async () => {
  const bare = `GET /healthz HTTP/1.0\r\nConnection: close\r\n\r\n`;
  parseAnswer(await exchangeBytes(target, bare)).expect(200);
  parseAnswer(await exchangeBytes(target, requestText('GET', '/healthz', ['Expect: a-miracle']))).expect(200);
  target.verifyAnswers();
});

test('requests sent ahead on one connection are answered in their order', async () => {
  const socket = await openSocket(target);
  const first = `GET /nothing HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: one\r\n\r\n`;
  socket.write(first + requestText('GET', '/healthz', ['X-Request-Id: two']));
  const text = await received(socket);
  assert.match(text, /404 Not Found[\s\S]*X-Request-Id: one[\s\S]*200 OK[\s\S]*X-Request-Id: two/);
});

test('a request sent ahead is not handled before its turn, nor when the connection is closed until then', async () => {
  const { client, secret } = await aServerKey(target, { scopes: ['events.read', 'users.write', 'users.read'] });
  await numbered(target);
  const { cursor } = (await client.get('/events?limit=1000')).expect(200).body;
  const fields = [project, `X-Service-Key: ${secret}`, 'Host: localhost'].join('\r\n');
  const waiting = (seconds: number) => `GET /v1/events?wait=${seconds}&cursor=${cursor} HTTP/1.1\r\n${fields}\r\n\r\n`;
  const body = JSON.stringify({ userId: 'ahead', name: 'Ahead' });
  const create = `POST /v1/users HTTP/1.1\r\n${fields}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const lost = await openSocket(target);
  lost.write(waiting(30) + create);
  await sleep(500);
  (await client.get('/users/ahead')).expect(404);
  lost.destroy();
  await sleep(1000);
  (await client.get('/users/ahead')).expect(404);
  const kept = await openSocket(target);
  kept.write(waiting(1) + create + requestText('GET', '/v1/users/ahead', [project, `X-Service-Key: ${secret}`]));
  const statuses = [...(await received(kept)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  assert.deepEqual(statuses, [200, 201, 200]);
});

test('a request sent ahead that asks for another protocol is refused after those before it', async () => {
  const { secret } = await aServerKey(target);
  const upgrade = ['Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
  const handshake = ['GET /v1/realtime?project=main HTTP/1.1', 'Host: localhost', 'Upgrade: websocket', ...upgrade];
  const plain = ['GET /v1/ping HTTP/1.1', 'Host: localhost', 'Upgrade: h2c', 'Connection: Upgrade'];
  const tunnel = ['CONNECT localhost:80 HTTP/1.1', 'Host: localhost'];
  const wait = ['GET /v1/events?wait=1 HTTP/1.1', 'Host: localhost', project, `X-Service-Key: ${secret}`];
  const ping = ['GET /v1/ping HTTP/1.1', 'Host: localhost'];
  const textOf = (...requests: readonly string[][]) => requests.map((one) => `${one.join('\r\n')}\r\n\r\n`).join('');
  for (const [last, status] of [
    [handshake, '400'],
    [plain, '400'],
    [tunnel, '405'],
  ] as const)
    for (const before of [[ping], [wait, ping]]) {
      const text = await exchangeBytes(target, textOf(...before, last));
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, one]) => one);
      assert.deepEqual(statuses, [...before.map(() => '200'), status]);
      assert.match(text, /Connection: close\r\n\r\n\{[^\r\n]*\}$/);
    }
});

test('a connection on which more than a hundred requests wait is closed', async () => {
  const { secret } = await aServerKey(target, { scopes: ['events.read'] });
  const stream = `GET /v1/events HTTP/1.1\r\n${project}\r\nX-Service-Key: ${secret}\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`;
  const ping = 'GET /v1/ping HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const socket = await openSocket(target);
  socket.write(stream + ping.repeat(101));
  assert.doesNotMatch(await received(socket), /Pong/);
  const many = await openSocket(target);
  many.write(ping.repeat(100) + requestText('GET', '/v1/ping'));
  assert.equal([...(await received(many)).matchAll(/Pong/g)].length, 101);
});

test('bytes that wait on all connections are bounded, and released with them', async () => {
  const { secret } = await aServerKey(target, { scopes: ['events.read'] });
  const stream = `GET /v1/events HTTP/1.1\r\n${project}\r\nX-Service-Key: ${secret}\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`;
  const padding = `X-Padding: ${'x'.repeat(14_000)}`;
  const many = stream + `GET /v1/ping HTTP/1.1\r\nHost: localhost\r\n${padding}\r\n\r\n`.repeat(99);
  const fitting = Math.floor(serverLimits.waitingBytes / (99 * 18_200));
  for (let round = 0; round < 2; round++) {
    const sockets: Socket[] = [];
    const closed = new Set<Socket>();
    for (let at = 0; at < fitting + 5; at++) {
      const socket = await openSocket(target);
      socket.on('error', () => {});
      socket.on('data', () => {});
      socket.once('close', () => closed.add(socket));
      await new Promise((resolve) => socket.write(many, resolve));
      sockets.push(socket);
    }
    await eventually(() => assert.ok(closed.size >= 4, `${round}: ${closed.size}`));
    (await createClient(target).get('/ping')).expect(200);
    assert.ok(closed.size < fitting, `${round}: ${closed.size}`);
    for (const socket of sockets) socket.destroy();
    await eventually(() => assert.equal(closed.size, sockets.length));
    // The server reads of it a moment later.
    await sleep(500);
  }
});

test('a connection that never completes its headers gets an answer and is closed', async () => {
  if (slow === undefined) return;
  const { text, seconds } = await slow;
  const answer = parseAnswer(text).refused(408, 'general_request_timeout');
  assert.ok(answer.headers.get('X-Request-Id'));
  assert.ok(seconds >= 14 && seconds < 30, String(seconds));
});

test('complete requests are answered before the connection is closed for the faulty one after them', async () => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  for (const garbage of ['\0\r\n\r\n', 'nonsense\r\n\r\n', 'GET / HTTP/1.1\r\nno colon\r\n\r\n'])
    for (const valid of [[get('/v1/ping')], [get('/v1/ping'), get('/v1/nowhere'), get('/readyz')]]) {
      const text = await exchangeBytes(target, valid.join('') + garbage);
      assert.deepEqual(statuses(text), [...[200, 404, 200].slice(0, valid.length), 400], text);
      assert.ok(text.includes('Pong!'));
    }
  const broken = 'POST /v1/ping HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n';
  const waited = await exchangeBytes(target, get('/v1/ping') + get('/v1/nowhere') + broken);
  assert.deepEqual(statuses(waited), [200, 404, 400], waited);
  const endless = await openSocket(target);
  const { secret } = await aServerKey(target, { scopes: ['events.read'] });
  const headers = [`X-Service-Project: ${target.project.id}`, `X-Service-Key: ${secret}`].join('\r\n');
  endless.write(`GET /v1/events HTTP/1.1\r\nHost: localhost\r\n${headers}\r\nAccept: text/event-stream\r\n\r\n`);
  const [first] = await once(endless, 'data');
  assert.match(String(first), /^HTTP\/1\.1 200/);
  endless.write('nonsense\r\n\r\n'.repeat(100));
  endless.destroy();
  (await createClient(target).get('/ping')).expect(200);
});

test('the time of a query string grows with its length only, however often a name is repeated', async () => {
  // `getAll` for each of the parameters would take quadratic time.
  const { getAll } = URLSearchParams.prototype;
  let calls = 0;
  URLSearchParams.prototype.getAll = function (name) {
    calls += 1;
    return getAll.call(this, name);
  };
  try {
    (await guest.get(`/locale?${'a&'.repeat(7000)}`)).expect(200);
    (await guest.get(`/account/sessions/oauth2/google?failure=x&${'a&'.repeat(7000)}`)).expect(412);
  } finally {
    URLSearchParams.prototype.getAll = getAll;
  }
  assert.equal(calls, 0);
});

test('a trailing slash is ignored, except if an id is missing', async () => {
  const { client: key } = await aServerKey(target);
  const { client } = await aLoggedInUser(target);
  (await client.get('/account/')).expect(200);
  (await client.get('/account/sessions/?total=0')).expect(200);
  (await client.patch('/account/name/', { name: 'x' })).expect(200);
  (await key.post('/databases/', { databaseId: 'slashed', name: 'x' })).expect(201);
  (await key.get('/databases/slashed/')).expect(200);
  (await key.get('/databases//')).refused(404, 'general_route_not_found');
  (await guest.get('//healthz/')).expect(200);
  (await guest.get('/realtime/')).refused(426, 'general_upgrade_required');
  // With an id behind it, the path would be that of one session, user or document.
  for (const path of ['/account/sessions/', '/databases/slashed/collections/some/documents/'])
    (await client.delete(path)).refused(405, 'general_method_unsupported');
  (await client.get('/account')).expect(200);
  (await key.put('/databases/', { name: 'x' })).refused(405, 'general_method_unsupported');
});
