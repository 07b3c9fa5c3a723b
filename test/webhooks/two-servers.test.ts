// Two processes of the built command on one database: each event arrives once, and what one was posting when it was killed the other posts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { webhookLimits } from '#src/contract/limits.js';
import { databaseUnderTest } from '../harness/appliance.js';
import type { Server } from '../harness/cli.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { documentOf, installServed } from './served.js';
import { bodyOf, called, eventually } from './setup.js';

const served = await installServed();
const { place } = served;
after(() => place.dispose());

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${100 + at}`);
const end = async (server: Server) => {
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
};
/** Every delivery of a webhook has been made, in so many attempts, and nobody holds one any more. */
const settled = (webhook: string, count: number) =>
  eventually(async () => {
    const states = await place.sql(`select state, owner, due_at, lease_until, count(*) as times from deliveries
      where webhook_id = '${webhook}' group by state, owner, due_at, lease_until`);
    const seen = states.map(({ times, ...rest }) => ({ ...rest, times: Number(times) }));
    assert.deepEqual(seen, [{ state: 'delivered', owner: null, due_at: null, lease_until: null, times: count }]);
    const attempts = await place.sql(`select ok, attempt from delivery_attempts where webhook_id = '${webhook}'`);
    assert.equal(attempts.length, count);
    assert.ok(attempts.every(({ ok, attempt }) => Number(ok) === 1 && Number(attempt) === 1));
  });

test('each of 200 events over two servers arrives exactly once', async () => {
  const receiver = await startReceiver();
  await served.subscribe('once', receiver.origin);
  const [first, second] = [await served.serve(), await served.serve()];
  const ids = numbered('once', 200);
  const lanes = Array.from({ length: 10 }, async (_, lane) => {
    for (let at = lane; at < ids.length; at += 10) await served.happen(lane % 2 ? first : second, ids[at] ?? '');
  });
  await Promise.all(lanes);
  const calls = await called(receiver, ids.length);
  assert.deepEqual(calls.map(documentOf).sort(), ids);
  const sequences = calls.map((call) => Number(bodyOf(call).sequence)).sort((a, b) => a - b);
  assert.deepEqual(
    sequences,
    ids.map((_, at) => at + 1),
  );
  await settled('once', ids.length);
  // Whatever a server had yet to post again it would have begun by now: both look every second.
  await sleep(2500);
  assert.equal(receiver.calls.length, ids.length);
  await Promise.all([first, second].map(end));
  for (const { log } of [first, second]) assert.doesNotMatch(log(), /"level":"error"/);
  await served.unsubscribe('once');
});

const notHere = databaseUnderTest === 'sqlite' && 'waits for a lease in real time, once: in the Postgres half';

test('the other server delivers the posts of a killed one after the lease, and sends nothing else twice', {
  skip: notHere,
}, async (t) => {
  const receiver = await startReceiver();
  const held: (() => void)[] = [];
  receiver.answer = (response) => held.push(() => response.end());
  await served.subscribe('lost', receiver.origin);
  const first = await served.serve();
  const ids = numbered('lost', 20);
  for (const id of ids.slice(0, 10)) await served.happen(first, id);
  const places = webhookLimits.atOncePerWebhook;
  const underWay = (await called(receiver, places)).map(documentOf).sort();

  const second = await served.serve();
  for (const id of ids.slice(10)) await served.happen(second, id);
  await called(receiver, 2 * places);
  const leases = await place.sql(
    "select lease_until, owner from deliveries where state = 'delivering' order by lease_until",
  );
  assert.deepEqual([leases.length, new Set(leases.map(({ owner }) => owner)).size], [2 * places, 2]);
  const leaseEnd = Date.parse(String(leases[places - 1]?.lease_until));
  const killed = Date.now();
  first.signal('SIGKILL');
  await first.ended;
  receiver.answer = (response) => response.end();
  for (const release of held) release();

  await called(receiver, ids.length);
  assert.deepEqual([...new Set(receiver.calls.map(documentOf))].sort(), ids);
  const latest = killed + webhookLimits.leaseMs + 15_000;
  while (receiver.calls.length < ids.length + places && Date.now() < latest) await sleep(100);
  const [lateMs, seconds] = [Date.now() - leaseEnd, (Date.now() - killed) / 1000];
  t.diagnostic(`taken over ${seconds.toFixed(1)} s after the kill, ${lateMs} ms after the end of the lease`);
  assert.ok(lateMs > -1000, 'nobody takes it while the lease lasts');
  assert.deepEqual(receiver.calls.slice(ids.length).map(documentOf).sort(), underWay);
  await settled('lost', ids.length);
  await sleep(2500);
  assert.equal(receiver.calls.length, ids.length + places);
  await end(second);
});
