// A webhook with more deliveries than one statement removes or gives up within its time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseUnderTest } from '../harness/appliance.js';
import { day } from '../harness/clock.js';
import { runSql } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, aWebhook, called, startOpen } from './setup.js';

const target = await startOpen({ settings: { SVC_QUERY_SECONDS: '1' } });
const key = await aKey(target);
const { projects } = target.appliance.features;
const aDayAgo = new Date(target.clock.now() - day).toISOString();
const inADay = new Date(target.clock.now() + day).toISOString();

/** Fills a webhook with deliveries that wait or have ended, each with an attempt. */
async function fill(webhookId: string, count: number, state: 'retrying' | 'delivered'): Promise<void> {
  const step = 5000;
  const of = [target.project.id, webhookId];
  for (let from = 1; from <= count; from += step) {
    const numbers =
      databaseUnderTest === 'postgres'
        ? `generate_series(${from}, ${from + step - 1}) as number`
        : `(with recursive given(number) as (select ${from} union all select number + 1 from given where number < ${from + step - 1})
            select number from given) as given`;
    const id = `'${webhookId}-' || number`;
    await runSql(
      target,
      `insert into deliveries (id, project_id, webhook_id, event_id, event, state, attempt, due_at, fence, replayed, sequence, bytes,
        created_at, updated_at) select ${id}, ?, ?, ${id}, 'documentCreated', ?, 1, ?, 1, 0, number, 2, ?, ? from ${numbers}`,
      [...of, state, state === 'retrying' ? inADay : null, aDayAgo, aDayAgo],
    );
    await runSql(
      target,
      `insert into delivery_attempts (id, project_id, webhook_id, delivery_id, event_id, event, attempt, state, status_code, ok, error,
        duration_ms, response, created_at) select ${id}, ?, ?, ${id}, ${id}, 'documentCreated', 1, ?, 200, 1, '', 1, '', ? from ${numbers}`,
      [...of, state, aDayAgo],
    );
  }
}
const left = async () => Number((await runSql(target, 'select count(*) as n from deliveries'))[0]?.n);

const many = 200_000;

test('it is disabled, which gives up its waiting deliveries, and removed, while other webhooks get their events', async () => {
  const receiver = await startReceiver();
  const full = await aWebhook(key, 'http://127.0.0.1:1999', { events: ['fileDeleted'] });
  const other = await aWebhook(key, receiver.origin);
  await fill(full.id, many, 'retrying');
  (await key.put(full.path, { enabled: false })).expect(200);
  const waiting = await runSql(
    target,
    "select id from deliveries where due_at is not null or state <> 'discarded' limit 1",
  );
  assert.deepEqual(waiting, []);

  let isRemoved = false;
  const removing = key.delete(full.path).finally(() => {
    isRemoved = true;
  });
  await anEvent(target);
  await called(receiver, 1);
  assert.ok(!isRemoved, 'the event arrived when the other webhook was gone');
  (await removing).expect(204);
  (await key.delete(other.path)).expect(204);
  assert.equal(await left(), 0);
});

test('its project is removed', async () => {
  const full = await aWebhook(key, 'http://127.0.0.1:1999', { events: ['fileDeleted'] });
  await fill(full.id, many, 'delivered');
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  await projects.remove(by, target.project.id);
  assert.equal(await left(), 0);
});
