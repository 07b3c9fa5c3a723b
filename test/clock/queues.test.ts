// What waits in the database, for receivers and for people, while the clock is set: it neither stands still nor is given up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messagesOf, send, standing, startSending, sweep } from '../courier/setup.js';
import type { TestAppliance } from '../harness/appliance.js';
import { day, hour, minute } from '../harness/clock.js';
import { rowsOf, runSql } from '../harness/database.js';
import { startMailServer } from '../harness/mail-server.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attempted, attemptsOf, aWebhook, called, eventually, startOpen } from '../webhooks/setup.js';

/** What the server does by itself within seconds of a step. */
async function afterStep({ appliance }: TestAppliance): Promise<void> {
  await appliance.features.jobs.sweep();
  appliance.features.worker.nudge();
}

for (const [name, step] of [
  ['six hours', 6 * hour],
  ['120 days', 120 * day],
] as const) {
  test(`deliveries that wait are made when the clock is set back by ${name}, those of a process that is gone too`, async () => {
    const target = await startOpen({ ticking: false });
    const key = await aKey(target);
    const receiver = await startReceiver();
    const webhook = await aWebhook(key, receiver.origin);
    receiver.answer = (response) => response.writeHead(500).end();
    const events = [await anEvent(target), await anEvent(target)];
    await attempted(key, webhook, 2);
    const now = target.clock.now();
    const lease = { due: new Date(now).toISOString(), until: new Date(now + minute).toISOString() };
    await runSql(
      target,
      `update deliveries set state = 'delivering', owner = 'gone', due_at = ?, lease_until = ? where event_id = ?`,
      [lease.due, lease.until, events[1] ?? ''],
    );
    receiver.answer = (response) => response.end();
    target.clock.step(-step);
    await afterStep(target);
    await called(receiver, 4);
    const states = async () => (await rowsOf(target, 'deliveries')).map(({ state }) => state);
    await eventually(async () => assert.deepEqual(await states(), ['delivered', 'delivered']));
    const fresh = await anEvent(target);
    await called(receiver, 5);
    target.clock.step(step);
    await anEvent(target);
    await called(receiver, 6);
    // A delivery that was under way at the step can arrive twice, so the calls do not tell that the last event has its number.
    await eventually(async () => {
      const sequences = (await rowsOf(target, 'events')).map(({ id, sequence }) => [id, Number(sequence)]);
      assert.deepEqual(sequences.map(([, number]) => number).sort(), [1, 2, 3, 4]);
      assert.ok(sequences.some(([id]) => id === fresh));
    });
  });
}

test('a webhook that failed before the machine slept for a month is not disabled for the first failure after it', async () => {
  const target = await startOpen({ ticking: false });
  const key = await aKey(target);
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  const stored = async () => (await rowsOf(target, 'webhooks')).find(({ id }) => id === webhook.id);
  /** Each delivery is tried at least once more. */
  const triedAgain = (before: number) =>
    eventually(async () => {
      const { length } = await attemptsOf(key, webhook);
      assert.ok(length >= before + 5, String(length));
    });
  const step = async (milliseconds: number) => {
    target.clock.step(milliseconds);
    const before = (await attemptsOf(key, webhook)).length;
    await afterStep(target);
    await triedAgain(before);
  };
  receiver.answer = (response) => response.writeHead(500).end();
  for (let event = 0; event < 5; event++) await anEvent(target);
  await triedAgain(0);
  await step(30 * day);
  assert.equal(Number((await stored())?.enabled), 1);
  assert.ok(Date.parse(String((await stored())?.failing_since)) > target.clock.now() - hour);

  // Nor for two failures within a day after the machine slept for days.
  await step(4.5 * day);
  await step(0.6 * day);
  assert.equal(Number((await stored())?.enabled), 1);
  assert.ok(Date.parse(String((await stored())?.failing_since)) > target.clock.now() - hour);

  // The other way round the five days begin anew, too.
  await step(-60 * day);
  assert.ok(Date.parse(String((await stored())?.failing_since)) <= target.clock.now());
});

test('the secret before a rotation that lies ahead signs no more', async () => {
  const target = await startOpen({ ticking: false });
  const key = await aKey(target);
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  (await key.post(`${webhook.path}/secret`)).expect(200);
  const signatures = async (count: number) => {
    await anEvent(target);
    const last = (await called(receiver, count)).at(-1);
    return String(last?.headers['webhook-signature']).split(' ').length;
  };
  assert.equal(await signatures(1), 2);
  target.clock.step(-6 * hour);
  assert.equal(await signatures(2), 2);
  target.clock.step(-30 * day);
  assert.equal(await signatures(3), 1);
});

test('messages that wait are sent when the clock is set back, whatever they waited for', async () => {
  const mailServer = await startMailServer();
  const target = await startSending(mailServer);
  await target.appliance.features.courier.worker.stop();
  const [pending, sending, first, fifth, own] = [
    ...[await send(target), await send(target), await send(target)],
    ...[await send(target), await send(target)],
  ];
  const put = (id: string, state: string, attempt: number, dueMs: number) =>
    runSql(target, 'update messages set state = ?, attempt = ?, due_at = ? where id = ?', [
      ...[state, attempt, new Date(target.clock.now() + dueMs).toISOString(), id],
    ]);
  await put(sending ?? '', 'sending', 1, -minute);
  await runSql(target, 'update messages set lease_until = ? where id = ?', [
    ...[new Date(target.clock.now() + minute).toISOString(), sending ?? ''],
  ]);
  await put(first ?? '', 'retrying', 1, 30_000);
  await put(fifth ?? '', 'retrying', 5, 4 * hour);
  target.clock.step(-6 * hour);
  // One that was put off by the clock as it stands keeps its time.
  await put(own ?? '', 'retrying', 5, 4 * hour);
  await afterStep(target);
  await target.appliance.features.jobs.tick('clock.settle');
  await sweep(target);
  for (const id of [pending, sending, first, fifth]) await standing(target, id ?? '', 'sent');
  await standing(target, own ?? '', 'retrying');
  assert.equal((await messagesOf(target)).length, 5);
});
