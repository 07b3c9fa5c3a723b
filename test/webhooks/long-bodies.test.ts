// Large documents for slow receivers: what is under way of them is bounded in bytes, and deliveries that are short do not wait for it.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { webhookLimits } from '#src/contract/limits.js';
import { createEventStore } from '#src/features/events/webhooks/deliveries/event-store.js';
import { aBackend } from '../documents/setup.js';
import { startReceiver } from '../harness/receiver.js';
import { anEvent, aWebhook, called, eventually, startOpen } from './setup.js';

const target = await startOpen({ longestCallMs: 30_000 });
const backend = await aBackend(target);
const { key } = backend;
/** Bytes of its text. */
const documentBytes = 3_000_000;
const text = 'x'.repeat(documentBytes);

test('slow receivers of large documents hold a bounded number of bytes, and short deliveries go on', async () => {
  const large = await backend.collection({ attributes: { t: { type: 'string', size: 5_000_000 } } });
  const slow = await startReceiver();
  const held: ServerResponse[] = [];
  let isOpen = false;
  let most = 0;
  slow.answer = (response) => {
    if (isOpen) {
      response.end();
      return;
    }
    held.push(response);
    most = Math.max(most, held.length);
  };
  const hooks = await Promise.all(
    Array.from({ length: 6 }, (_, at) => aWebhook(key, `${slow.origin}/${at}`, { events: ['documentCreated'] })),
  );
  const quick = await startReceiver();
  const other = await aWebhook(key, quick.origin, { events: ['sessionCreated'] });

  for (let at = 0; at < 4; at++)
    (await key.post(large.documents, { documentId: `d${at}`, data: { t: text } })).expect(201);
  const inAll = Math.ceil(webhookLimits.longAtOnce / documentBytes);
  await eventually(() => assert.equal(held.length, inAll), 60);
  await anEvent(target);
  await called(quick, 1);
  assert.equal(most, inAll);
  const ofWebhook = Math.ceil(webhookLimits.longAtOncePerWebhook / documentBytes);
  for (const { id } of hooks) {
    const calls = slow.calls.filter(({ headers }) => headers['x-service-webhook-id'] === id);
    assert.ok(calls.length <= ofWebhook, `${calls.length} at once`);
  }

  isOpen = true;
  for (const response of held) response.end();
  await eventually(() => assert.equal(slow.calls.length, 24), 60);
  const told = slow.calls.map(({ headers, url }) => `${url} ${headers['webhook-id']}`);
  assert.equal(new Set(told).size, 24, 'each event reaches each webhook once');
  for (const { path } of [...hooks, other]) (await key.delete(path)).expect(204);
});

test('events become deliveries in units of bounded bytes', async () => {
  const { documents } = await backend.collection({ attributes: { t: { type: 'string', size: 5_000_000 } } });
  await target.appliance.features.worker.stop();
  for (let at = 0; at < 4; at++) (await key.post(documents, { documentId: `e${at}`, data: { t: text } })).expect(201);
  const { db, sql } = target.appliance.runtime;
  const numbered = (last: number, bytes: number) =>
    db.work({ projectId: 'main', actor: { kind: 'service', id: 'test' }, requestId: '' }, async (unit) => {
      const given = { last, now: unit.now, limit: 100, bytes };
      return (await unit.all(createEventStore(sql).numberSome(target.project.id, given))).length;
    });
  assert.equal(await numbered(1000, 1), 1, 'one at least');
  assert.equal(await numbered(2000, documentBytes + 10_000), 2);
  assert.equal(await numbered(3000, webhookLimits.fannedOutBytes), 1);
});
