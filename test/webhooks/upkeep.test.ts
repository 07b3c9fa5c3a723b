// What operators see and what is tidied up: replays of many, pruning, metrics.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deliveryDelays, webhookLimits } from '#src/contract/limits.js';
import { createClient } from '../harness/client.js';
import { day, hour } from '../harness/clock.js';
import { rowsOf, runSql } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attempted, attemptsOf, aWebhook, bodyOf, called, eventually, startOpen } from './setup.js';

// Without jobs of its own accord: a month that passes here ends sessions, and that would be announced.
const target = await startOpen({ ticking: false });
const key = await aKey(target);
const { worker, webhooks, jobs } = target.appliance.features;
const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
const sample = async (name: string): Promise<number> => {
  const { text } = await createClient(target, { project: null }).get('//metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
};

test('given-up deliveries are sent again since a time or by their event, and never count against the webhook', async () => {
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(500).end();
  const webhook = await aWebhook(key, receiver.origin);
  const made = [await anEvent(target), await anEvent(target)];
  for (let attempt = 1; attempt <= 10; attempt++) {
    await attempted(key, webhook, 2 * attempt);
    target.clock.advance((deliveryDelays[attempt - 1] ?? 0) * 1200 + 1000);
    worker.nudge();
  }
  const stored = await webhooks.get(target.appliance.runtime.db, target.project.id, webhook.id);
  assert.equal(stored.attempts, 20);
  const since = new Date(target.clock.now() + day).toISOString();
  assert.equal(await webhooks.replaySome(by, stored, { since, all: false }), 0);
  target.clock.advance(6 * day);
  assert.equal(await webhooks.replaySome(by, stored, { since: '2000-01-01T00:00:00.000Z', all: false }), 2);
  worker.nudge();
  await attempted(key, webhook, 22);
  const { attempts, enabled } = (await key.get(webhook.path)).body;
  assert.deepEqual([attempts, enabled], [20, true]);

  receiver.answer = (response) => response.end();
  const before = receiver.calls.length;
  assert.equal(await webhooks.replayEvent(by, stored, made[0] ?? ''), 1);
  worker.nudge();
  const calls = await called(receiver, before + 1);
  assert.equal(bodyOf(calls.at(-1) ?? { body: Buffer.from('{}') }).id, made[0]);
  await assert.rejects(webhooks.replayEvent(by, stored, 'none'), { type: 'webhook_delivery_not_found' });
  (await key.delete(webhook.path)).expect(204);
});

test('ended deliveries and events are removed after 30 days; waiting ones stay', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  const old = [await anEvent(target), await anEvent(target)];
  await attempted(key, webhook, 2);
  await runSql(
    target,
    `update deliveries set state = 'retrying', due_at = '2999-01-01T00:00:00.000Z' where event_id = ?`,
    [old[1] ?? ''],
  );
  const prune = async () => assert.equal((await jobs.run('webhooks.prune'))?.outcome, 'ok');
  await prune();
  assert.equal((await attemptsOf(key, webhook)).length, 2);
  target.clock.advance(webhookLimits.retentionDays * day + hour);
  const young = await anEvent(target);
  await attempted(key, webhook, 3);
  await prune();
  const left = (await rowsOf(target, 'deliveries')).map(({ event_id }) => event_id).sort();
  assert.deepEqual(left, [old[1], young].sort());
  const events = (await rowsOf(target, 'events')).map(({ id }) => id);
  assert.deepEqual(events.sort(), [old[1], young].sort(), 'what waits is made of its event');
  assert.equal((await rowsOf(target, 'delivery_attempts')).length, 2);
  await runSql(target, `update deliveries set due_at = '2000-01-01T00:00:00.000Z' where event_id = ?`, [old[1] ?? '']);
  worker.nudge();
  const calls = (await called(receiver, 4)).map(({ body }) => body.toString());
  assert.equal(calls.filter((body) => body === calls.at(-1)).length, 2, 'the bytes of the first attempt');
  (await key.delete(webhook.path)).expect(204);
});

test('deliveries of events removed by SQL are given up, and others go on', async () => {
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(500).end();
  const webhook = await aWebhook(key, receiver.origin);
  const made = [await anEvent(target), await anEvent(target)];
  await attempted(key, webhook, 2);
  await runSql(target, 'delete from events where id = ?', [made[0] ?? '']);
  receiver.answer = (response) => response.end();
  target.clock.advance(60_000);
  worker.nudge();
  const calls = await called(receiver, 3);
  assert.equal(bodyOf(calls.at(-1) ?? { body: Buffer.from('{}') }).id, made[1]);
  await eventually(async () => {
    const rows = await rowsOf(target, 'deliveries', target.project.id);
    const states = new Map(rows.map(({ event_id, state, due_at }) => [event_id, [state, due_at]]));
    assert.deepEqual(states.get(made[0]), ['discarded', null]);
    assert.deepEqual(states.get(made[1]), ['delivered', null]);
  });
  (await key.delete(webhook.path)).expect(204);
});

test('attempts, waiting deliveries and their age are measured', async () => {
  const receiver = await startReceiver();
  const ok = 'svc_webhook_attempts_total{outcome="ok"}';
  const failed = 'svc_webhook_attempts_total{outcome="failed"}';
  const before = [await sample(ok), await sample(failed)];
  // The end of the last webhook is an event too, and has yet to be numbered.
  await eventually(async () =>
    assert.deepEqual([await sample('svc_webhook_backlog'), await sample('svc_webhook_oldest_seconds')], [0, 0]),
  );
  receiver.answer = (response) => response.writeHead(500).end();
  const webhook = await aWebhook(key, receiver.origin);
  await anEvent(target);
  await attempted(key, webhook, 1);
  assert.equal(await sample('svc_webhook_backlog'), 1);
  receiver.answer = (response) => response.end();
  await worker.stop();
  target.clock.advance(hour);
  const age = await sample('svc_webhook_oldest_seconds');
  assert.ok(age >= 3600 && age < 3700, String(age));
  // The receiver has failed: that it is tried again later is no lag of the service.
  assert.equal(await sample('svc_webhook_due_seconds'), 0);
  worker.start();
  await attempted(key, webhook, 2);
  assert.equal(await sample('svc_webhook_backlog'), 0);
  assert.deepEqual([await sample(ok), await sample(failed)], [(before[0] ?? 0) + 1, (before[1] ?? 0) + 1]);
  await eventually(async () => assert.equal(await sample('svc_webhook_oldest_seconds'), 0));
  (await key.delete(webhook.path)).expect(204);
});
