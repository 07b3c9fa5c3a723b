// A webhook that is removed while its receiver is being asked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, aWebhook, startOpen } from './setup.js';

test('a test of a webhook that is removed concurrently gets 404, and nothing of it is kept', async () => {
  const target = await startOpen();
  const key = await aKey(target);
  const receiver = await startReceiver();
  const { path } = await aWebhook(key, receiver.origin);
  receiver.answer = async (response) => {
    (await key.delete(path)).expect(204);
    response.end();
  };
  (await key.post(`${path}/test`, {})).refused(404, 'webhook_not_found');
  assert.deepEqual(await rowsOf(target, 'deliveries', target.project.id), []);
  assert.doesNotMatch(target.log(), /"level":"error"/);
});
