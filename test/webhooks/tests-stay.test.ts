// Test deliveries: they are shown, and neither replayed nor held against the webhook, whoever asks and however.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookLimits } from '#src/contract/limits.js';
import { day } from '../harness/clock.js';
import { rowsOf, runSql } from '../harness/database.js';
import { startRuntime, statement } from '../harness/platform.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attempted, attemptsOf, aWebhook, bodyOf, called, startOpen } from './setup.js';

const target = await startOpen({ ticking: false });
const key = await aKey(target);
const { worker, webhooks } = target.appliance.features;
const { db, sql } = target.appliance.runtime;
const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
const since = '2000-01-01T00:00:00.000Z';
const stored = (id: string) => webhooks.get(db, target.project.id, id);

test('a test that failed or arrived is replayed by no way, and an event beside it is', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  receiver.answer = (response) => response.writeHead(500).end();
  const failed = (await key.post(`${webhook.path}/test`)).expect(200).body.delivery as Record<string, unknown>;
  receiver.answer = (response) => response.end();
  const arrived = (await key.post(`${webhook.path}/test`)).expect(200).body.delivery as Record<string, unknown>;
  for (const made of [failed, arrived]) {
    for (const id of [made.deliveryId, made.$id]) {
      const refused = (await key.post(`${webhook.path}/deliveries/${id}/replay`)).refused(
        400,
        'general_argument_invalid',
      );
      assert.match(refused.string('message'), /test delivery/);
    }
    const attempt = webhooks.replayEvent(by, await stored(webhook.id), String(made.eventId));
    await assert.rejects(attempt, { type: 'general_argument_invalid' });
  }
  for (const all of [false, true])
    assert.equal(await webhooks.replaySome(by, await stored(webhook.id), { since, all }), 0);
  const eventId = await anEvent(target);
  await called(receiver, 3);
  await attempted(key, webhook, 3);
  assert.equal(await webhooks.replaySome(by, await stored(webhook.id), { since, all: false }), 0);
  assert.equal(await webhooks.replaySome(by, await stored(webhook.id), { since, all: true }), 1);
  worker.nudge();
  const calls = await called(receiver, 4);
  assert.deepEqual(
    calls.slice(2).map((call) => bodyOf(call).id),
    [eventId, eventId],
  );
  await attempted(key, webhook, 4);
  const deliveries = await rowsOf(target, 'deliveries', target.project.id);
  assert.equal(deliveries.filter(({ test: isTest }) => Number(isTest) === 1).length, 2);
  (await key.delete(webhook.path)).expect(204);
});

test('tests that fail for days, or are answered 410, disable nothing', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  for (const status of [500, 410]) {
    receiver.answer = (response) => response.writeHead(status).end();
    for (let days = 0; days <= webhookLimits.failingDays; days++) {
      (await key.post(`${webhook.path}/test`)).expect(200);
      target.clock.advance(day);
    }
  }
  const { enabled, attempts, logs } = (await key.get(webhook.path)).body;
  assert.deepEqual([enabled, attempts, logs], [true, 0, '']);
  assert.equal(await webhooks.replaySome(by, await stored(webhook.id), { since, all: true }), 0);
  (await key.delete(webhook.path)).expect(204);
});

test('a replay after a rotation is signed with the new secret, and earlier tests stay unchanged', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  receiver.answer = (response) => response.writeHead(500).end();
  (await key.post(`${webhook.path}/test`)).expect(200);
  const eventId = await anEvent(target);
  await attempted(key, webhook, 2);
  (await key.post(`${webhook.path}/secret`)).expect(200);
  receiver.answer = (response) => response.end();
  (await key.post(`${webhook.path}/test`)).expect(200);
  // What waits for its next try is due at once.
  const [, waiting] = await attemptsOf(key, webhook);
  assert.equal(waiting?.state, 'retrying');
  assert.equal(await webhooks.replaySome(by, await stored(webhook.id), { since, all: false }), 1);
  worker.nudge();
  const calls = await called(receiver, 4);
  const [test1, event1, test2, event2] = calls;
  assert.deepEqual(
    [event1, event2].map((call) => call && bodyOf(call).id),
    [eventId, eventId],
  );
  const signatures = calls.map(({ headers }) => String(headers['webhook-signature']).split(' ').length);
  assert.deepEqual(signatures, [1, 1, 2, 2]);
  assert.notEqual(event1?.headers['x-service-signature'], event2?.headers['x-service-signature']);
  assert.notEqual(test1 && bodyOf(test1).id, test2 && bodyOf(test2).id);
  (await key.delete(webhook.path)).expect(204);
});

test('a long replay takes each delivery once, also those that end while it goes on', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  await worker.stop();
  const before = new Date(target.clock.now() - day).toISOString();
  const numbers = Array.from({ length: 1200 }, (_, index) => index);
  const columns =
    'id, project_id, webhook_id, event_id, event, state, attempt, fence, replayed, sequence, bytes, created_at, updated_at';
  for (const number of numbers)
    await runSql(
      target,
      `insert into deliveries (${columns}) values (?, ?, ?, ?, 'documentCreated', 'dead', 10, 10, 0, 1, 2, ?, ?)`,
      [...[`long-${number}`, target.project.id, webhook.id, `event-${number}`, before, before]],
    );
  // Each is given up again as soon as it has begun.
  const giveUp = sql`update deliveries set state = 'dead', due_at = null where state = 'pending'`;
  let replaying = true;
  const givingUp = (async () => {
    while (replaying) await db.work(by, (unit) => unit.run(giveUp));
  })();
  assert.equal(await webhooks.replaySome(by, await stored(webhook.id), { since, all: true }), numbers.length);
  replaying = false;
  await givingUp;
  worker.start();
  (await key.delete(webhook.path)).expect(204);
});

test('tests that an older version made are known too', async () => {
  const { runtime } = await startRuntime();
  const { migrator } = runtime;
  const names = migrator.migrations.map(({ name }) => name);
  await migrator.up(names[names.indexOf('0016_webhook_tests') - 1]);
  const run = (text: string) => runtime.db.all(statement(runtime, text));
  const at = "'2026-01-01T00:00:00.000Z'";
  await run(
    `insert into projects (id, name, settings, data_key, created_at, updated_at) values ('p', 'P', '{}', '', ${at}, ${at})`,
  );
  await run(`insert into webhooks (project_id, id, name, url, events, enabled, tls, auth_username, secret, attempts, logs, created_at, updated_at)
    values ('p', 'w', 'W', 'https://example.com', '[]', 1, 1, '', '', 0, '', ${at}, ${at})`);
  const bodies = {
    made: '{"id":"a","type":"documentCreated","timestamp":"t","sequence":0,"projectId":"p","data":{"test":true}}',
    real: '{"id":"b","type":"documentCreated","timestamp":"t","sequence":10,"projectId":"p","data":{"text":"\\"sequence\\":0,"}}',
  };
  for (const [id, body] of Object.entries(bodies))
    await run(`insert into deliveries (id, project_id, webhook_id, event_id, event, state, attempt, fence, replayed, body, created_at, updated_at)
      values ('${id}', 'p', 'w', '${id}', 'documentCreated', 'dead', 1, 0, 0, '${body}', ${at}, ${at})`);
  await migrator.up();
  const rows = await run('select id, test from deliveries order by id');
  assert.deepEqual(
    rows.map((row) => [row.id, Number(row.test)]),
    [
      ['made', 1],
      ['real', 0],
    ],
  );
});
