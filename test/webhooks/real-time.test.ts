// Receivers that never end their answer, against a real server and its real time limit.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { webhookLimits } from '#src/contract/limits.js';
import { databaseUnderTest } from '../harness/appliance.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { documentOf, installServed } from './served.js';

type Attempts = { deliveries: { attempt: number; statusCode: number; error: string; durationMs: number }[] };

/** A server below HTTP that says something, and then a byte now and again for ever. */
async function dripping(text: string): Promise<string> {
  const sockets = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    if (text === '') return;
    socket.write(text);
    timers.add(setInterval(() => socket.writable && socket.write('x'), 500));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    for (const timer of timers) clearInterval(timer);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const slow: Record<string, string> = {
  hangs: '',
  'drips-headers': 'HTTP/1.1 200 OK\r\nX-Slow: ',
  'drips-body': 'HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n',
};
const isShort = process.env.SVC_TEST_ROUNDS === undefined;
const notHere =
  (isShort && 'waits for 30 s in `npm run test:faults`; webhooks/hostile has a shorter limit') ||
  (databaseUnderTest === 'postgres' && 'waits in real time, once: in the SQLite half');

test('receivers that hang or drip are given up after 15 s, while another one gets each event within 5 s', {
  skip: notHere,
}, async () => {
  const served = await installServed();
  after(() => served.place.dispose());
  const bystander = await startReceiver();
  const arrived = new Map<string, number>();
  bystander.answer = (response) => {
    for (const call of bystander.calls.slice(arrived.size)) arrived.set(documentOf(call), performance.now());
    response.end();
  };
  for (const [id, text] of Object.entries(slow)) await served.subscribe(id, await dripping(text));
  await served.subscribe('bystander', bystander.origin);
  const server = await served.serve();
  const happened = new Map<string, number>();
  for (let at = 0; at < 36; at++) {
    happened.set(`d${at}`, performance.now());
    await served.happen(server, `d${at}`);
    await sleep(500);
  }
  await sleep(2000);
  assert.deepEqual([...arrived.keys()].sort(), [...happened.keys()].sort());
  for (const [id, time] of happened) assert.ok((arrived.get(id) ?? Number.NaN) - time < 5000, id);
  for (const id of Object.keys(slow)) {
    const list = ['webhook', 'deliveries', id, '--project', 'shop', '--limit', '1000'];
    const { deliveries } = await served.place.json<Attempts>(list);
    // As many as there are places have been given up, or more where the machine was slow.
    assert.ok(deliveries.length >= webhookLimits.atOncePerWebhook, id);
    for (const { attempt, statusCode, error, durationMs } of deliveries) {
      assert.deepEqual([attempt, statusCode], [1, 0], id);
      assert.match(error, /time limit/);
      assert.ok(durationMs >= 14_000 && durationMs <= 20_000, `${id}: ${durationMs} ms`);
    }
  }
});
