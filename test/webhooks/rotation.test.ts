// While a secret is rotated both sign; what is over is over by the clock.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mock, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { aBackend } from '../documents/setup.js';
import { hour, minute } from '../harness/clock.js';
import { type ReceivedCall, startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, aWebhook, called, startOpen } from './setup.js';

const target = await startOpen();
const key = await aKey(target);

/** The library looks at the clock of the machine, which the test's has left behind. */
function verifies(secret: string, { headers, body }: ReceivedCall): boolean {
  const content = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`), body]);
  const signature = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(content)
    .digest('base64');
  return String(headers['webhook-signature']).split(' ').includes(`v1,${signature}`);
}
const plain = (secret: string, { body }: ReceivedCall) => createHmac('sha256', secret).update(body).digest('hex');

test('of a thousand deliveries none is refused by a receiver that changes over half-way, and none is taken ten minutes later', async () => {
  const { collection } = await aBackend(target);
  const some = await collection({ attributes: { n: { type: 'integer' } } });
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin, { events: ['documentCreated'] });
  let library = new Webhook(webhook.secret);
  const refused: unknown[] = [];
  const verify = ({ body, headers }: ReceivedCall) =>
    library.verify(body.toString(), headers as Record<string, string>);
  receiver.answer = (response) => {
    try {
      verify(receiver.calls.at(-1) as ReceivedCall);
    } catch (error) {
      refused.push(error);
    }
    response.end();
  };
  let next = 0;
  const createUntil = async (last: number): Promise<void> => {
    while (next < last) {
      next += 1;
      (await key.post(some.documents, { documentId: `n${next}`, data: { n: next } })).expect(201);
    }
  };
  const several = (last: number) => Promise.all(Array.from({ length: 8 }, () => createUntil(last)));
  await several(250);
  const fresh = (await key.post(`${webhook.path}/secret`)).expect(200).string('secret');
  await several(500);
  library = new Webhook(fresh);
  await several(1000);
  const calls = await called(receiver, 1000);
  assert.deepEqual(refused, []);
  assert.equal(new Set(calls.map(({ headers }) => headers['webhook-id'])).size, 1000);

  const last = calls.at(-1) as ReceivedCall;
  verify(last);
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 10 * minute });
  try {
    assert.throws(() => verify(last), /timestamp too old/);
  } finally {
    mock.timers.reset();
  }
  (await key.delete(webhook.path)).expect(204);
});

test('both secrets sign for 24 hours, ours by the new one; then only the new one', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  const secret = (await key.post(`${webhook.path}/secret`)).expect(200).string('signingSecret');
  await anEvent(target);
  const [during] = await called(receiver, 1);
  assert.ok(during);
  for (const one of [webhook.secret, secret]) {
    assert.ok(verifies(one, during));
    new Webhook(one).verify(during.body.toString(), during.headers as Record<string, string>);
  }
  assert.equal(String(during.headers['webhook-signature']).split(' ').length, 2);
  assert.equal(during.headers['x-service-signature'], plain(secret, during));

  target.clock.advance(24 * hour);
  await anEvent(target);
  const [, after] = await called(receiver, 2);
  assert.ok(after);
  assert.deepEqual([verifies(webhook.secret, after), verifies(secret, after)], [false, true]);
  assert.equal(String(after.headers['webhook-signature']).split(' ').length, 1);

  const third = (await key.patch(`${webhook.path}/secret`, { overlap: 0 })).expect(200).string('secret');
  await anEvent(target);
  const [, , last] = await called(receiver, 3);
  assert.ok(last);
  assert.deepEqual([verifies(secret, last), verifies(third, last)], [false, true]);
  assert.equal(last.headers['x-service-signature'], plain(third, last));
  (await key.delete(webhook.path)).expect(204);
});

test('another rotation ends an overlap, and the webhook says until when the secret before signs', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  const rotated = async (overlap: number) =>
    (await key.post(`${webhook.path}/secret`, { overlap })).expect(200).body as Record<string, string>;
  const second = await rotated(7200);
  assert.equal(Date.parse(second.previousSecretUntil ?? '') - Date.parse(second.$updatedAt ?? ''), 2 * hour);
  const third = await rotated(3600);
  assert.equal(Date.parse(third.previousSecretUntil ?? '') - Date.parse(third.$updatedAt ?? ''), hour);
  await anEvent(target);
  const [call] = await called(receiver, 1);
  assert.ok(call);
  const secrets = [webhook.secret, second.secret ?? '', third.secret ?? ''];
  assert.deepEqual(
    secrets.map((secret) => verifies(secret, call)),
    [false, true, true],
  );
  assert.equal((await rotated(0)).previousSecretUntil, '');
  (await key.delete(webhook.path)).expect(204);
});
