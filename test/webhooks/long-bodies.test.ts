// Large documents for slow receivers: what is under way of them is bounded in bytes, and deliveries that are short do not wait for it.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { webhookLimits } from '#src/contract/limits.js';
import { aBackend } from '../documents/setup.js';
import { rowsOf } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { anEvent, attempted, aWebhook, called, eventually, startOpen } from './setup.js';

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

test('a large document is stored once, however many webhooks it goes to, and each is sent the bytes of the feed', async () => {
  const { documents } = await backend.collection({ attributes: { t: { type: 'string', size: 5_000_000 } } });
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(500).end();
  const hooks = await Promise.all(
    Array.from({ length: 4 }, () => aWebhook(key, receiver.origin, { events: ['documentCreated'] })),
  );
  (await key.post(documents, { documentId: 'once', data: { t: text } })).expect(201);
  const bodies = (await called(receiver, hooks.length)).map(({ body }) => body.toString());
  for (const hook of hooks) await attempted(key, hook, 1);
  const stored = JSON.stringify(await rowsOf(target, 'deliveries')).length;
  assert.ok(stored < 100_000, `${stored} characters of deliveries`);
  const [event = ''] = bodies;
  assert.ok(event.length > documentBytes && bodies.every((body) => body === event));
  const resource = documents.replace(/^\//, '');
  const page = (await key.get(`/events?resource=${encodeURIComponent(`${resource}/once`)}`)).expect(200);
  assert.ok(page.text.includes(event));
  for (const { path } of hooks) (await key.delete(path)).expect(204);
});
