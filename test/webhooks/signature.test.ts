// What a receiver gets: the body, all six headers, and signatures that others' code verifies.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { rowsOf } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attempted, aWebhook, bodyOf, called, startOpen } from './setup.js';

const target = await startOpen();
const key = await aKey(target);

const plain = (secret: string, body: Buffer) => createHmac('sha256', secret).update(body).digest('hex');
type Headers = Record<string, string>;
const standard = (secret: string, body: Buffer, headers: unknown) =>
  new Webhook(secret).verify(body.toString(), headers as Headers);

test('a delivery carries the event, its number, and six headers that verify', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, `${receiver.origin}/in?x=1`);
  const eventId = await anEvent(target);
  const [call] = await called(receiver, 1);
  assert.ok(call);
  const { method, url, headers, body } = call;
  assert.deepEqual([method, url], ['POST', '/in?x=1']);
  const [row] = (await rowsOf(target, 'events')).filter(({ id }) => id === eventId);
  const { id, type, timestamp, sequence, projectId, data, ...more } = bodyOf(call);
  assert.deepEqual(more, {});
  assert.deepEqual([id, type, projectId], [eventId, 'sessionCreated', target.project.id]);
  assert.equal(sequence, Number(row?.sequence));
  assert.equal(Date.parse(String(timestamp)), Date.parse(String(row?.created_at)));
  assert.ok(body.toString().endsWith(`,"data":${row?.data}}`));
  assert.deepEqual(data, JSON.parse(String(row?.data)));
  assert.deepEqual(
    [headers['content-type'], headers['x-service-event'], headers['x-service-webhook-id'], headers['webhook-id']],
    ['application/json', 'sessionCreated', webhook.id, eventId],
  );
  assert.match(headers['user-agent'] ?? '', /^svc\//);
  assert.ok(Math.abs(Number(headers['webhook-timestamp']) - target.clock.now() / 1000) < 30);
  assert.equal(headers['x-service-signature'], plain(webhook.secret, body));
  assert.deepEqual(standard(webhook.secret, body, headers), bodyOf(call));

  const tampered = Buffer.from(body);
  tampered[20] = (tampered[20] ?? 0) ^ 1;
  assert.notEqual(headers['x-service-signature'], plain(webhook.secret, tampered));
  assert.throws(() => standard(webhook.secret, tampered, headers), /No matching signature/);
  assert.throws(() => standard(webhook.secret, body, { ...headers, 'webhook-id': 'other' }), /No matching signature/);
  const [attempt] = await attempted(key, webhook, 1);
  const { $id, $createdAt, deliveryId, durationMs, ...rest } = attempt ?? {};
  assert.deepEqual(rest, {
    ...{ webhookId: webhook.id, eventId, event: 'sessionCreated', attempt: 1, state: 'delivered', statusCode: 200 },
    ...{ test: false, ok: true, error: '', nextAttemptAt: '', response: '' },
  });
  assert.ok($id && $createdAt && deliveryId && Number(durationMs) >= 0);
  (await key.delete(webhook.path)).expect(204);
});
