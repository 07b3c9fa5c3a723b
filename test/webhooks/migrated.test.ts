// Deliveries that an older version made: each held its whole body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attempted, aWebhook, called, startOpen } from './setup.js';

const target = await startOpen();
const { migrator } = target.appliance.runtime;

test('deliveries of an older version are sent with the bytes that they held, and one step back holds them again', async () => {
  const key = await aKey(target);
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(500).end();
  const webhook = await aWebhook(key, receiver.origin);
  await anEvent(target);
  const [first] = await called(receiver, 1);
  await attempted(key, webhook, 1);
  await target.appliance.features.worker.stop();

  assert.equal(await migrator.down(), '0039_deliveries_without_bodies');
  const [older] = await rowsOf(target, 'deliveries', target.project.id);
  assert.equal(older?.body, first?.body.toString());
  assert.deepEqual(await migrator.up(), ['0039_deliveries_without_bodies']);
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
