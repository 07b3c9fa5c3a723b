// A test event looks like a real one of its name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subscribableEvents } from '#src/contract/events.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, aWebhook, bodyOf, called, startOpen } from './setup.js';

const target = await startOpen();
const key = await aKey(target);

test('a test of each event carries the members of a real one, and the sequence 0', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  await anEvent(target);
  const [real] = (await called(receiver, 1)).map(bodyOf);
  for (const [at, event] of subscribableEvents.entries()) {
    (await key.post(`${webhook.path}/test`, { event })).expect(200);
    const body = (await called(receiver, at + 2)).map(bodyOf)[at + 1];
    assert.deepEqual([body?.type, body?.sequence, body?.projectId], [event, 0, target.project.id]);
    const data = body?.data as Record<string, unknown>;
    if (event.startsWith('session')) assert.deepEqual(Object.keys(data), Object.keys(real?.data as object));
    else for (const member of ['$id', '$createdAt', '$updatedAt', '$permissions']) assert.ok(member in data, event);
    assert.match(String(data.$createdAt), /T.*\+00:00$/);
  }
});
