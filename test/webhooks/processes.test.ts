// Two servers on one database: who delivers, and what happens when one of them is gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookLimits } from '#src/contract/limits.js';
import { rowsOf } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attempted, attemptsOf, aWebhook, bodyOf, called, eventually, startOpen } from './setup.js';

const first = await startOpen({ longestCallMs: 30_000 });
const second = await first.startSibling();
const key = await aKey(first);
const workers = [first, second].map(({ appliance }) => appliance.features.worker);

const ids = (calls: readonly { readonly body: Buffer }[]) => calls.map((call) => String(bodyOf(call).id)).sort();

test('each event gets one number and is delivered once, whichever process fans it out', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  const before = Number((await rowsOf(first, 'event_sequences', first.project.id))[0]?.last ?? 0);
  const some = (at: typeof first) => Promise.all(Array.from({ length: 30 }, () => anEvent(at)));
  const nudging = setInterval(() => {
    for (const worker of workers) worker.nudge();
  }, 1);
  const made = (await Promise.all([some(first), some(second)])).flat().sort();
  const calls = await called(receiver, 60);
  clearInterval(nudging);
  assert.deepEqual(ids(calls), made);
  const numbers = calls.map((call) => Number(bodyOf(call).sequence)).sort((a, b) => a - b);
  assert.deepEqual(
    numbers,
    Array.from({ length: 60 }, (_, index) => before + index + 1),
  );
  const attempts = await attempted(key, webhook, 60);
  assert.ok(attempts.every(({ attempt, state }) => attempt === 1 && state === 'delivered'));
  const owners = new Set((await rowsOf(first, 'deliveries')).map(({ owner }) => owner));
  assert.deepEqual([...owners], [null]);
  assert.equal(receiver.calls.length, 60);
  (await key.delete(webhook.path)).expect(204);
});

test('when one is lost the other takes over as soon as the lease is over, and the late result counts for nothing', async () => {
  const receiver = await startReceiver();
  const held: (() => void)[] = [];
  receiver.answer = (response) => held.push(() => response.writeHead(500).end('late'));
  const webhook = await aWebhook(key, receiver.origin);
  await workers[0]?.stop();
  const eventId = await anEvent(second);
  await called(receiver, 1);
  receiver.answer = (response) => response.end('in time');
  workers[0]?.start();
  first.clock.advance(webhookLimits.leaseMs - 5000);
  for (const worker of workers) worker.nudge();
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.deepEqual([receiver.calls.length, (await attemptsOf(key, webhook)).length], [1, 0]);

  first.clock.advance(5000);
  for (const worker of workers) worker.nudge();
  const calls = await called(receiver, 2);
  assert.deepEqual(ids(calls), [eventId, eventId]);
  assert.deepEqual(calls[0]?.body, calls[1]?.body);
  const [attempt] = await attempted(key, webhook, 1);
  assert.deepEqual([attempt?.state, attempt?.response], ['delivered', 'in time']);

  for (const release of held) release();
  await workers[1]?.stop();
  workers[1]?.start();
  const [still, ...more] = await attemptsOf(key, webhook);
  assert.deepEqual([still, more], [attempt, []]);
  assert.equal((await key.get(webhook.path)).body.attempts, 0);
  (await key.delete(webhook.path)).expect(204);
});

test('what happened while no server ran is delivered when one starts', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  await Promise.all(workers.map((worker) => worker.stop()));
  const made = [await anEvent(first), await anEvent(second)].sort();
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.equal(receiver.calls.length, 0);
  for (const worker of workers) worker.start();
  assert.deepEqual(ids(await called(receiver, 2)), made);
  (await key.delete(webhook.path)).expect(204);
});

test('a server that ends completes the request that it is posting', async () => {
  const receiver = await startReceiver();
  receiver.answer = (response) => void setTimeout(() => response.end(), 300);
  const webhook = await aWebhook(key, receiver.origin);
  await workers[0]?.stop();
  await anEvent(second);
  await called(receiver, 1);
  await workers[1]?.stop();
  const [attempt] = await attemptsOf(key, webhook);
  assert.equal(attempt?.state, 'delivered');
  for (const worker of workers) worker.start();
  (await key.delete(webhook.path)).expect(204);
});

test('the events of a project and their numbers go with it', async () => {
  const { runtime, features } = first.appliance;
  const by = { projectId: 'brief', actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const project = await runtime.db.work(by, (unit) => features.projects.create(unit, { id: 'brief', name: 'Brief' }));
  await runtime.db.work(by, async (unit) => {
    const payload = { attributes: [], permissions: false };
    unit.record('documentCreated', { resource: 'x', payload, announce: '{}' });
  });
  await eventually(async () => {
    const [event] = await rowsOf(first, 'events', project.id);
    assert.equal(Number(event?.sequence), 1);
  });
  await features.projects.remove(by, project.id);
  for (const table of ['events', 'event_sequences', 'webhooks'])
    assert.deepEqual(await rowsOf(first, table, project.id), [], table);
});
