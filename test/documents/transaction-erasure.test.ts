// What a person has staged in transactions goes when the person is erased, and cannot be committed any more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { key, collection } = await aBackend(target);
const path = '/databases/transactions';

test('open transactions of an erased person are gone with all that was staged in them, and those of others stay', async () => {
  const permissions = ['create("users")', 'read("users")'];
  const { documents } = await collection({ permissions, attributes: { title: { type: 'string', size: 50 } } });
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const stage = async (client: Client, documentId: string) => {
    const transactionId = (await client.post(path, {})).expect(201).string('$id');
    (await client.post(documents, { documentId, data: { title: `of ${documentId}` }, transactionId })).expect(201);
    return transactionId;
  };
  const [first, second, others] = [
    await stage(ada.client, 'one'),
    await stage(ada.client, 'two'),
    await stage(bob.client, 'three'),
  ];
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'cli' }, requestId: 'erase' };
  await target.appliance.features.erasure.run(by, target.project, ada.id);
  for (const id of [first, second])
    (await ada.client.patch(`${path}/${id}`, { commit: true })).refused(401, 'general_unauthorized_scope');
  const left = await rowsOf(target, 'transaction_operations');
  assert.deepEqual(
    left.map((row) => row.transaction_id),
    [others],
  );
  const open = await rowsOf(target, 'transactions');
  assert.deepEqual(
    open.map((row) => row.id),
    [others],
  );
  (await bob.client.patch(`${path}/${others}`, { commit: true })).expect(200);
  const listed = (await key.get(documents)).expect(200).list('documents');
  assert.deepEqual(
    listed.map(({ $id }) => $id),
    ['three'],
  );
});
