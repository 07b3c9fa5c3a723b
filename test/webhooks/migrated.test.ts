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
  assert.ok(!('body' in ((await rowsOf(target, 'deliveries', target.project.id))[0] ?? {})));

  receiver.answer = (response) => response.end();
  target.clock.advance(60_000);
  target.appliance.features.worker.start();
  const [, second] = await called(receiver, 2);
  assert.equal(second?.body.toString(), first?.body.toString());
});
