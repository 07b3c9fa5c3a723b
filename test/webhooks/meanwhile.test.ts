// What changes while another transaction holds up those who make deliveries, claim them or begin them anew.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { databaseUnderTest } from '../harness/appliance.js';
import { day, hour } from '../harness/clock.js';
import { runSql } from '../harness/database.js';
import { type Receiver, startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { aKey, anEvent, aWebhook, bodyOf, called, eventually, startOpen, type TestWebhook } from './setup.js';

const target = await startOpen();
const sibling = await target.startSibling();
const [key, otherKey] = [await aKey(target), await aKey(sibling)];
const { worker, webhooks } = target.appliance.features;
const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
const aDayAgo = new Date(target.clock.now() - day).toISOString();

/** Runs SQL in a transaction that stays open until it is told to end; SQLite has one writer, so that there nobody waits in the middle of a unit. */
async function holding(text: string, values: unknown[]): Promise<() => Promise<void>> {
  if (databaseUnderTest === 'sqlite') return async () => {};
  const client = new pg.Client({ connectionString: target.databaseUrl });
  await client.connect();
  after(() => client.end());
  await client.query('begin');
  await client.query(text, values);
  return async () => void (await client.query('commit'));
}
/** Waits until somebody waits for a lock. */
const heldUp = async (): Promise<void> => {
  if (databaseUnderTest === 'sqlite') return;
  const client = new pg.Client({ connectionString: target.databaseUrl });
  await client.connect();
  await eventually(async () => {
    const found = await client.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    assert.ok(found.rowCount);
  });
  await client.end();
};

test('a webhook that is enabled while events get their numbers gets those that follow', async () => {
  const [busy, receiver] = [await startReceiver(), await startReceiver()];
  const other = await aWebhook(key, busy.origin);
  const webhook = await aWebhook(key, receiver.origin, { enabled: false });
  const release = await holding('select id from webhooks where project_id = $1 and id = $2 for update', [
    target.project.id,
    other.id,
  ]);
  await anEvent(target);
  await heldUp();
  const enabling = key.put(webhook.path, { name: 'Test', url: receiver.origin, events: ['*'], enabled: true });
  await Promise.race([enabling, sleep(1000).then(release)]);
  (await enabling).expect(200);
  const made = await anEvent(target);
  await release();
  await called(busy, 2);
  const calls = await eventually(() => {
    const found = receiver.calls.map((call) => bodyOf(call).id);
    assert.ok(found.includes(made));
    return found;
  });
  assert.equal(new Set(calls).size, calls.length);
  for (const { path } of [other, webhook]) (await key.delete(path)).expect(204);
});

/** A delivery that waits, of an event that is gone. */
const waits = (id: string, webhookId: string, state: string, dueAt: string | null) =>
  runSql(
    target,
    `insert into deliveries (id, project_id, webhook_id, event_id, event, state, attempt, due_at, fence, replayed, sequence, bytes,
      created_at, updated_at) values (?, ?, ?, ?, 'documentCreated', ?, 1, ?, 1, 0, 1, 2, ?, ?)`,
    [id, target.project.id, webhookId, `event-${id}`, state, dueAt, aDayAgo, aDayAgo],
  );

test('a replay goes on behind deliveries that are claimed in its way', async () => {
  const webhook = await aWebhook(key, 'http://127.0.0.1:1999', { events: ['fileDeleted'] });
  const inAnHour = new Date(target.clock.now() + 3_600_000).toISOString();
  await waits('behind-000', webhook.id, 'retrying', inAnHour);
  for (let number = 1; number < 600; number++)
    await waits(`behind-${String(number).padStart(3, '0')}`, webhook.id, 'dead', null);
  await worker.stop();
  const release = await holding(
    "update deliveries set state = 'delivering', lease_until = due_at, owner = 'another', fence = 2 where id = $1",
    ['behind-000'],
  );
  const stored = await webhooks.get(target.appliance.runtime.db, target.project.id, webhook.id);
  const replayed = webhooks.replaySome(by, stored, { since: '2000-01-01T00:00:00.000Z', all: false });
  await heldUp();
  await release();
  assert.equal(await replayed, databaseUnderTest === 'sqlite' ? 600 : 599);
  const [left] = await runSql(target, "select count(*) as n from deliveries where state = 'dead'");
  assert.equal(Number(left?.n), 0);
  (await key.delete(webhook.path)).expect(204);
  worker.start();
});

/** Keeps units of the first server waiting for others until it is told to end. */
const occupied = async (): Promise<() => Promise<void>> => {
  const { path, id } = await aWebhook(key, 'http://127.0.0.1:1999', { enabled: false });
  const release = await holding('select id from webhooks where project_id = $1 and id = $2 for update', [
    target.project.id,
    id,
  ]);
  const rotations = Array.from({ length: 5 }, () => key.post(`${path}/secret`, {}));
  await heldUp();
  return async () => {
    await release();
    for (const rotation of rotations) (await rotation).expect(200);
    (await key.delete(path)).expect(204);
  };
};

/**
 * Changes a webhook by the second server after the first one has seen it with something that waits, and before that one takes any of it; the
 * second one makes deliveries of eight events, and has places for four.
 */
async function changed({
  id,
  path,
}: Pick<TestWebhook, 'id' | 'path'>): Promise<Receiver & { readonly made: string[] }> {
  const receiver = await startReceiver();
  const held: (() => void)[] = [];
  receiver.answer = (response) => held.push(() => response.end());
  await sibling.appliance.features.worker.stop();
  const free = await occupied();
  await waits(id, id, 'pending', aDayAgo);
  worker.nudge();
  await sleep(300);
  const change = { name: 'Test', url: receiver.origin, events: ['*'], enabled: true };
  (await otherKey.put(path, change)).expect(200);
  const made: string[] = [];
  for (let count = 0; count < 8; count++) made.push(await anEvent(sibling));
  sibling.appliance.features.worker.start();
  await eventually(() => assert.ok(held.length >= 4));
  receiver.answer = (response) => response.end();
  await free();
  await sleep(300);
  for (const release of held) release();
  return { ...receiver, made };
}

test('deliveries of a webhook that was enabled concurrently are not given up for its earlier state', async () => {
  const webhook = await aWebhook(key, 'http://127.0.0.1:1999', { enabled: false });
  const { made, ...receiver } = await changed(webhook);
  const calls = await called(receiver, made.length);
  assert.deepEqual(calls.map((call) => bodyOf(call).id).sort(), made.sort());
  (await key.delete(webhook.path)).expect(204);
});

test('a delivery claimed after a change of its webhook goes to the new address', async () => {
  const before = await startReceiver();
  const webhook = await aWebhook(key, before.origin);
  const { made, ...receiver } = await changed(webhook);
  const calls = await called(receiver, made.length);
  assert.deepEqual([before.calls.length, calls.map((call) => bodyOf(call).id).sort()], [0, made.sort()]);
  (await key.delete(webhook.path)).expect(204);
});

test('a delivery that ended concurrently is not made due when the clock was set back', async () => {
  const webhook = await aWebhook(key, 'http://127.0.0.1:1999', { events: ['fileDeleted'] });
  await Promise.all([worker.stop(), sibling.appliance.features.worker.stop()]);
  const now = new Date(target.clock.now()).toISOString();
  await waits('ended', webhook.id, 'delivering', now);
  await runSql(target, "update deliveries set updated_at = ?, lease_until = ? where id = 'ended'", [now, now]);
  const end = "update deliveries set state = 'delivered', due_at = null, lease_until = null where id = $1";
  const release = await holding(end, ['ended']);
  if (databaseUnderTest === 'sqlite') await runSql(target, end.replace('$1', "'ended'"));
  target.clock.step(-6 * hour);
  const settling = target.appliance.features.jobs.sweep();
  await heldUp();
  await release();
  await settling;
  const [row] = await runSql(target, "select state, due_at from deliveries where id = 'ended'");
  assert.deepEqual(row, { state: 'delivered', due_at: null });
});

test('a delivery begun again while the old is removed stays', async () => {
  const webhook = await aWebhook(key, 'http://127.0.0.1:1999', { events: ['fileDeleted'] });
  await waits('dead', webhook.id, 'dead', null);
  const long = new Date(target.clock.now() - 31 * day).toISOString();
  await runSql(target, "update deliveries set created_at = ? where id = 'dead'", [long]);
  const replay = "update deliveries set state = 'pending', due_at = updated_at where id = $1";
  const release = await holding(replay, ['dead']);
  if (databaseUnderTest === 'sqlite') await runSql(target, replay.replace('$1', "'dead'"));
  const pruning = target.appliance.features.jobs.run('webhooks.prune');
  await heldUp();
  await release();
  await pruning;
  assert.equal((await runSql(target, "select id from deliveries where id = 'dead'")).length, 1);
});
