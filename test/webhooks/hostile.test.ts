// Receivers that misbehave: each attempt ends in time and is recorded, and nobody else waits for it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { selfSigned } from '../harness/certificate.js';
import { withNames } from '../harness/names.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { aKey, anEvent, attempted, attemptsOf, aWebhook, called, startOpen } from './setup.js';

const limitMs = 1000;
const target = await startOpen({ longestCallMs: limitMs });
const key = await aKey(target);

/** A server below HTTP that treats each connection as it is told. */
async function rawServer(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  return listening(server, sockets);
}

async function listening(server: Server, sockets = new Set<Socket>()): Promise<number> {
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const drip = (text: string) => (socket: Socket) => {
  socket.write(text);
  const timer = setInterval(() => socket.write('x'), 50);
  socket.on('close', () => clearInterval(timer));
};
const http = (port: number) => `http://127.0.0.1:${port}/`;
const bystander = await startReceiver();
const redirecting = await startReceiver();
redirecting.answer = (response) => response.writeHead(307, { Location: `${bystander.origin}/stolen` }).end();
const large = await startReceiver();
large.answer = (response) => response.end(Buffer.alloc(10_000_000, 'é'));
const certificate = selfSigned(['localhost']);
const tlsPort = await listening(createTlsServer(certificate, (_, response) => response.end('secure')));

const hostile: [string, string, number, RegExp][] = [
  ['hangs', http(await rawServer(() => {})), 0, /time limit/],
  ['drips its headers', http(await rawServer(drip('HTTP/1.1 200 OK\r\nX-Slow: '))), 0, /time limit/],
  ['drips its body', http(await rawServer(drip('HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n'))), 0, /time limit/],
  ['closes the connection', http(await rawServer((socket) => socket.destroy())), 0, /closed the connection/],
  ['resets the connection', http(await rawServer((socket) => socket.resetAndDestroy())), 0, /closed the connection/],
  ['does not speak HTTP', http(await rawServer((socket) => socket.end('SSH-2.0-x\r\n'))), 0, /not HTTP/],
  ['redirects', redirecting.origin, 307, /answered 307; redirects are not followed/],
  ['has no TLS', `https://127.0.0.1:${redirecting.port}/`, 0, /^TLS failed \(\w+\)$/],
  ['has a certificate of its own', `https://127.0.0.1:${tlsPort}/`, 0, /^TLS failed \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/],
  ['is not there', http(1024), 0, /refused/],
  ['has no address', 'https://nowhere.invalid/', 0, /resolve/],
];

for (const [name, url, statusCode, error] of hostile) {
  test(`a receiver that ${name}: the attempt ends in time and says so`, async () => {
    const webhook = await aWebhook(key, url, { events: ['fileCreated'] });
    const started = performance.now();
    const { delivery } = (await key.post(`${webhook.path}/test`)).expect(200).body as {
      delivery: Record<string, unknown>;
    };
    assert.ok(performance.now() - started < limitMs + 5000);
    assert.deepEqual(
      [delivery.ok, delivery.statusCode, delivery.test, delivery.state],
      [false, statusCode, true, 'discarded'],
    );
    assert.match(String(delivery.error), error);
    assert.doesNotMatch(String(delivery.error), /\bat |node_modules|\/src\//);
    assert.deepEqual((await attemptsOf(key, webhook))[0], delivery);
    const { attempts, enabled } = (await key.get(webhook.path)).body;
    assert.deepEqual([attempts, enabled], [0, true], 'a test is not held against the webhook');
    (await key.delete(webhook.path)).expect(204);
  });
}

test('nothing was redirected', () => assert.deepEqual(bystander.calls, []));

test('of an answer of 10 MB a KiB is kept', async () => {
  const webhook = await aWebhook(key, large.origin);
  const { delivery } = (await key.post(`${webhook.path}/test`)).expect(200).body as {
    delivery: Record<string, unknown>;
  };
  assert.deepEqual([delivery.ok, String(delivery.response).length > 0], [true, true]);
  assert.ok(Buffer.byteLength(String(delivery.response)) <= 1024);
  (await key.delete(webhook.path)).expect(204);
});

test('NUL characters of an answer are left out', async () => {
  const nul = await startReceiver();
  nul.answer = (response) => response.end('a\0b');
  const webhook = await aWebhook(key, nul.origin);
  await anEvent(target);
  assert.equal((await attempted(key, webhook, 1))[0]?.response, 'ab');
  (await key.delete(webhook.path)).expect(204);
});

test('any certificate is accepted if the installation and the webhook allow it', async () => {
  const webhook = await aWebhook(key, `https://127.0.0.1:${tlsPort}/`, { tls: false });
  await anEvent(target);
  assert.equal((await attempted(key, webhook, 1))[0]?.response, 'secure');
  (await key.delete(webhook.path)).expect(204);
});

test('deliveries carry the Basic authentication of the webhook', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin, { authUsername: 'ada', authPassword: 'hüsh' });
  await anEvent(target);
  const [call] = await called(receiver, 1);
  assert.equal(call?.headers.authorization, `Basic ${Buffer.from('ada:hüsh').toString('base64')}`);
  (await key.put(webhook.path, { authUsername: '', authPassword: '' })).expect(200);
  await anEvent(target);
  assert.equal((await called(receiver, 2))[1]?.headers.authorization, undefined);
  (await key.delete(webhook.path)).expect(204);
});

test('hanging receivers use their own slots and delay no other, also on the same origin', async () => {
  const receiver = await startReceiver();
  receiver.answer = (response, { url }) => {
    if (url !== '/hang') response.end();
  };
  const hanging = await Promise.all(Array.from({ length: 10 }, () => aWebhook(key, `${receiver.origin}/hang`)));
  const good = await aWebhook(key, `${receiver.origin}/good`);
  const to = (url: string) => receiver.calls.filter((call) => call.url === url);
  const late: number[] = [];
  for (let event = 0; event < 12; event++) {
    const started = performance.now();
    await anEvent(target);
    while (to('/good').length <= event) await new Promise((resolve) => setTimeout(resolve, 5));
    if (performance.now() - started >= limitMs) late.push(event);
  }
  // Whoever waited for those that hang would be late each time; a busy machine may be so now and then.
  assert.ok(late.length < 4, `events ${late} were held up`);
  for (const { id } of hanging) {
    const calls = to('/hang').filter(({ headers }) => headers['x-service-webhook-id'] === id);
    assert.ok(calls.length >= 1);
  }
  assert.ok((await attempted(key, good, 12)).every(({ state }) => state === 'delivered'));
  for (const { path } of [...hanging, good]) (await key.delete(path)).expect(204);
});

test('addresses that turn out to be private are named and never connected to', async () => {
  const guarded = await startAppliance();
  const guardedKey = await aKey(guarded);
  const before = bystander.connections();
  for (const address of ['127.0.0.1', '10.1.2.3', '::1', '::ffff:127.0.0.1']) {
    const webhook = await aWebhook(guardedKey, `https://rebind.example.com:${bystander.port}/`);
    await withNames([address], async () => {
      await anEvent(guarded);
      const [attempt] = await attempted(guardedKey, webhook, 1);
      assert.deepEqual([attempt?.ok, attempt?.state], [false, 'retrying']);
      assert.equal(attempt?.error, 'refused by the egress guard: the name resolves to an address that is not public');
    });
    (await guardedKey.delete(webhook.path)).expect(204);
  }
  assert.equal(bystander.connections(), before);
});
