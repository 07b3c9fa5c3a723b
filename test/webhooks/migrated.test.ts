// Deliveries that older versions made: the end of a lease stood where the due time is, and before that each held its whole body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf, runSql } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attempted, aWebhook, called, startOpen } from './setup.js';

const target = await startOpen();
const { migrator } = target.appliance.runtime;

/** Takes steps of the schema back until this one is; returns them in the order in which they are taken again. */
async function downTo(step: string): Promise<string[]> {
  const taken: string[] = [];
  while (taken[0] !== step) taken.unshift(String(await migrator.down()));
  return taken;
}

test('deliveries of an older version are sent with the bytes that they held, and one step back holds them again', async () => {
  const key = await aKey(target);
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(500).end();
  const webhook = await aWebhook(key, receiver.origin);
  await anEvent(target);
  const [first] = await called(receiver, 1);
  await attempted(key, webhook, 1);
  await target.appliance.features.worker.stop();

  const steps = await downTo('0039_deliveries_without_bodies');
  const [older] = await rowsOf(target, 'deliveries', target.project.id);
  assert.equal(older?.body, first?.body.toString());
  assert.deepEqual(await migrator.up(), steps);
  const rows = await rowsOf(target, 'deliveries', target.project.id);
  const of = ({ id, event_id }: Record<string, unknown>) => [id, event_id];
  assert.ok(rows.length === 1 && rows.every((row) => !('body' in row)));
  const [event] = (await rowsOf(target, 'events', target.project.id)).filter(({ id }) => id === rows[0]?.event_id);
  assert.deepEqual(
    [...of(rows[0] ?? {}), Number(rows[0]?.sequence), Number(rows[0]?.bytes)],
    [...of(older ?? {}), Number(event?.sequence), Buffer.byteLength(String(event?.data))],
  );

  receiver.answer = (response) => response.end();
  target.clock.advance(60_000);
  target.appliance.features.worker.start();
  const [, second] = await called(receiver, 2);
  assert.equal(second?.body.toString(), first?.body.toString());
});

test('a delivery that an older version was posting is under way until its lease expires, also one step back', async () => {
  const key = await aKey(target);
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  const eventId = await anEvent(target);
  await attempted(key, webhook, 1);
  await target.appliance.features.worker.stop();
  const [due, lease] = [0, 60_000].map((after) => new Date(target.clock.now() + after).toISOString());
  await runSql(target, "update deliveries set state = 'delivering', due_at = ?, lease_until = ? where event_id = ?", [
    ...[due ?? '', lease ?? '', eventId],
  ]);
  const stored = async () => {
    const rows = await rowsOf(target, 'deliveries', target.project.id);
    const row = rows.find(({ event_id }) => event_id === eventId);
    return [row?.state, row?.due_at, row?.lease_until];
  };
  const steps = await downTo('0040_leases');
  assert.deepEqual(await stored(), ['delivering', lease, undefined]);
  assert.deepEqual(await migrator.up(), steps);
  assert.deepEqual(await stored(), ['delivering', lease, lease]);

  target.appliance.features.worker.start();
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.equal(receiver.calls.length, 1);
  target.clock.advance(60_000);
  target.appliance.features.worker.nudge();
  await called(receiver, 2);
});
