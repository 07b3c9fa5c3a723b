// When a delivery is tried again, when it is given up, and how it begins anew; by the clock.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deliveryDelays } from '#src/contract/limits.js';
import { day } from '../harness/clock.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attempted, attemptsOf, aWebhook, bodyOf, called, eventually, startOpen } from './setup.js';

const target = await startOpen();
const key = await aKey(target);
const { worker } = target.appliance.features;
const state = async (webhookId: string) =>
  (await rowsOf(target, 'deliveries')).filter(({ webhook_id }) => webhook_id === webhookId).map((row) => row.state);

/** Seconds from an attempt to the next that was planned after it. */
const planned = ({ $createdAt, nextAttemptAt }: Record<string, unknown>) =>
  (Date.parse(String(nextAttemptAt)) - Date.parse(String($createdAt))) / 1000;

/** Moves the clock to the next attempt, not a moment earlier. */
async function untilNext(webhook: Parameters<typeof attemptsOf>[1]): Promise<void> {
  const [last] = await attemptsOf(key, webhook);
  const due = Date.parse(String(last?.nextAttemptAt));
  assert.ok(due > 0, JSON.stringify(last));
  target.clock.advance(Math.max(0, due - target.clock.now()));
  worker.nudge();
}

test('ten attempts, then dead; a replay delivers the same bytes under the same id', async () => {
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(500).end('not today');
  const webhook = await aWebhook(key, receiver.origin);
  const eventId = await anEvent(target);
  for (let attempt = 1; attempt <= 10; attempt++) {
    const [last, ...earlier] = await attempted(key, webhook, attempt);
    const { statusCode, ok, error, response, state: now } = last ?? {};
    assert.deepEqual(
      [last?.attempt, statusCode, ok, error, response],
      [attempt, 500, false, 'answered 500', 'not today'],
    );
    assert.equal(now, attempt < 10 ? 'retrying' : 'dead');
    const delay = deliveryDelays[attempt - 1];
    if (delay === undefined) assert.equal(last?.nextAttemptAt, '');
    else {
      const seconds = planned(last ?? {});
      assert.ok(seconds >= delay * 0.79 && seconds <= delay * 1.21, `${seconds} after attempt ${attempt}`);
      await untilNext(webhook);
    }
    assert.equal(earlier.length, attempt - 1);
  }
  const calls = [...receiver.calls];
  assert.equal(new Set(calls.map(({ body }) => body.toString())).size, 1);
  assert.deepEqual([...new Set(calls.map(({ headers }) => headers['webhook-id']))], [eventId]);
  assert.equal(new Set(calls.map(({ headers }) => headers['webhook-timestamp'])).size, 10);
  const { attempts, logs, enabled } = (await key.get(webhook.path)).body;
  assert.deepEqual([attempts, logs, enabled], [10, 'answered 500', true]);
  target.clock.advance(day);
  worker.nudge();

  receiver.answer = (response) => response.end();
  const [dead] = await attempted(key, webhook, 10);
  const replayed = (await key.post(`${webhook.path}/deliveries/${dead?.deliveryId}/replay`)).expect(202).body;
  assert.deepEqual([replayed.deliveryId, replayed.eventId, replayed.state], [dead?.deliveryId, eventId, 'pending']);
  const [again] = await attempted(key, webhook, 11);
  assert.deepEqual([again?.state, again?.attempt], ['delivered', 1]);
  const last = receiver.calls.at(-1);
  assert.ok(last);
  assert.deepEqual([last.headers['webhook-id'], last.body], [eventId, calls[0]?.body]);
  const after = (await key.get(webhook.path)).body;
  assert.deepEqual([after.attempts, after.logs], [0, 'answered 500']);
  (await key.delete(webhook.path)).expect(204);
  assert.deepEqual(await state(webhook.id), []);
});

const waits: [string, number, string, number, number][] = [
  ['of 429 is waited for', 429, '8', 8, 8],
  ['of 503 is waited for', 503, '7', 7, 7],
  ['is at most doubled', 503, '3600', 7.9, 12.1],
  ['does not shorten', 429, '0', 3.9, 6.1],
  ['means nothing with 500', 500, '8', 3.9, 6.1],
  ['may be nonsense', 429, 'soon', 3.9, 6.1],
];
for (const [name, status, value, least, most] of waits) {
  test(`Retry-After ${name}`, async () => {
    const receiver = await startReceiver();
    receiver.answer = (response) => response.writeHead(status, { 'Retry-After': value }).end();
    const webhook = await aWebhook(key, receiver.origin);
    await anEvent(target);
    const [last] = await attempted(key, webhook, 1);
    const seconds = planned(last ?? {});
    assert.ok(seconds >= least - 0.2 && seconds <= most + 0.9, String(seconds));
    (await key.delete(webhook.path)).expect(204);
  });
}

test('Retry-After may be a date', async () => {
  const receiver = await startReceiver();
  receiver.answer = (response) =>
    response.writeHead(503, { 'Retry-After': new Date(target.clock.now() + 3_600_000).toUTCString() }).end();
  const webhook = await aWebhook(key, receiver.origin);
  await anEvent(target);
  assert.ok(planned((await attempted(key, webhook, 1))[0] ?? {}) >= 7.9);
  (await key.delete(webhook.path)).expect(204);
});

test('a webhook that is disabled by a call is not failing, even if an attempt under way fails later', async () => {
  const receiver = await startReceiver();
  const failing = async (id: string) => {
    const [row] = (await rowsOf(target, 'webhooks')).filter((one) => one.id === id);
    return [row?.attempts, row?.failing_since];
  };
  receiver.answer = (response) => response.writeHead(500).end();
  const webhook = await aWebhook(key, receiver.origin);
  await anEvent(target);
  await attempted(key, webhook, 1);
  assert.notEqual((await failing(webhook.id))[1], null);
  let answer = () => {};
  receiver.answer = (response) => {
    answer = () => void response.writeHead(500).end();
  };
  await anEvent(target);
  await called(receiver, 2);
  (await key.put(webhook.path, { enabled: false })).expect(200);
  assert.deepEqual(await failing(webhook.id), [1, null]);
  answer();
  await eventually(async () => assert.deepEqual(await failing(webhook.id), [2, null]));
  (await key.delete(webhook.path)).expect(204);
});

test('410 disables the webhook: its waiting deliveries are discarded until it is enabled again', async () => {
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(500).end();
  const webhook = await aWebhook(key, receiver.origin);
  await anEvent(target);
  await attempted(key, webhook, 1);
  receiver.answer = (response) => response.writeHead(410).end();
  const { recorded } = await recordedBy(target, async () => {
    await anEvent(target);
    await attempted(key, webhook, 2);
  });
  assert.ok(recorded.audit.includes('webhookDisabled'));
  assert.equal((await key.get(webhook.path)).body.enabled, false);
  // What waits is given up right after the webhook is disabled.
  await eventually(async () => assert.deepEqual((await state(webhook.id)).sort(), ['dead', 'discarded']));
  const seen = await attemptsOf(key, webhook);
  assert.deepEqual(seen.map((one) => one.state).sort(), ['dead', 'discarded']);
  (await key.post(`${webhook.path}/deliveries/${seen[0]?.deliveryId}/replay`)).refused(409, 'webhook_disabled');

  const missed = await anEvent(target);
  await eventually(async () => {
    const [event] = (await rowsOf(target, 'events')).filter(({ id }) => id === missed);
    assert.ok(event?.dispatched_at);
  });
  receiver.answer = (response) => response.end();
  (await key.put(webhook.path, { enabled: true })).expect(200);
  const before = receiver.calls.length;
  const eventId = await anEvent(target);
  const calls = await called(receiver, before + 1);
  assert.equal(bodyOf(calls.at(-1) ?? { body: Buffer.from('{}') }).id, eventId);
  (await key.delete(webhook.path)).expect(204);
});

test('a delivery goes on after the webhook has ended its subscription, to the current address', async () => {
  const [before, now] = [await startReceiver(), await startReceiver()];
  before.answer = (response) => response.writeHead(500).end();
  const webhook = await aWebhook(key, before.origin, { events: ['sessionCreated'] });
  const subscribed = await anEvent(target);
  await attempted(key, webhook, 1);
  (await key.put(webhook.path, { events: ['documentCreated'], url: now.origin })).expect(200);
  const missed = await anEvent(target);
  await eventually(async () => {
    const [event] = (await rowsOf(target, 'events')).filter(({ id }) => id === missed);
    assert.ok(event?.dispatched_at);
  });
  await untilNext(webhook);
  const [last] = await attempted(key, webhook, 2);
  assert.deepEqual([last?.state, last?.eventId, last?.event], ['delivered', subscribed, 'sessionCreated']);
  (await key.post(`${webhook.path}/deliveries/${last?.deliveryId}/replay`)).expect(202);
  await attempted(key, webhook, 3);
  const calls = await called(now, 2);
  assert.deepEqual([...new Set(calls.map(({ headers }) => headers['webhook-id']))], [subscribed]);
  assert.deepEqual([before.calls.length, await state(webhook.id)], [1, ['delivered']]);
  (await key.delete(webhook.path)).expect(204);
});

test('five days of nothing but failures disable a webhook; a success in between does not let them', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  const fails = async (is: boolean) => {
    receiver.answer = (response) => response.writeHead(is ? 500 : 200).end();
    const before = (await attemptsOf(key, webhook)).length;
    await anEvent(target);
    await eventually(async () => assert.ok((await attemptsOf(key, webhook)).length > before));
    return (await key.get(webhook.path)).body;
  };
  await fails(true);
  target.clock.advance(4 * day);
  // Both the old event and the new one arrive.
  await fails(false);
  await eventually(async () => assert.equal((await key.get(webhook.path)).body.attempts, 0));
  await eventually(async () => assert.ok((await state(webhook.id)).every((one) => one === 'delivered')));
  await fails(true);
  target.clock.advance(2 * day);
  assert.equal((await fails(true)).enabled, true);
  target.clock.advance(3 * day + 60_000);
  const { recorded } = await recordedBy(target, async () => {
    await fails(true);
    await eventually(async () => assert.equal((await key.get(webhook.path)).body.enabled, false));
  });
  assert.ok(recorded.audit.includes('webhookDisabled'));
  const [row] = (await rowsOf(target, 'audit_entries')).filter(
    ({ action, resource }) => action === 'webhookDisabled' && resource === `webhooks/${webhook.id}`,
  );
  assert.match(String(row?.data), /five days|5 days/);
  assert.equal(row?.actor_kind, 'service');
});
