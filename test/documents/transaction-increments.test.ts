// Staged increments are carried out at the commit, on what the document holds then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { key, databaseId, collection } = await aBackend(target);

const begin = async () => String((await key.post('/databases/transactions', {})).expect(201).body.$id);
const commit = (id: string) => key.patch(`/databases/transactions/${id}`, { commit: true });

test('increments of one document in several transactions all count', async () => {
  const { documents, id } = await collection({
    attributes: { n: { type: 'integer', min: 0 }, title: { type: 'string', size: 9 } },
  });
  (await key.post(documents, { documentId: 'a', data: { n: 10 } })).expect(201);
  const [one, two, three, four] = [await begin(), await begin(), await begin(), await begin()];
  const up = (transactionId: string, value: number) =>
    key.patch(`${documents}/a/n/increment`, { value, transactionId });
  assert.equal((await up(one, 1)).expect(200).body.n, 11);
  assert.equal((await up(two, 2)).expect(200).body.n, 12);
  (await up(two, 3)).expect(200);
  const operation = { databaseId, collectionId: id, action: 'decrement', documentId: 'a' };
  const operations = [{ ...operation, data: { attribute: 'n', value: 4 } }];
  (await key.post(`/databases/transactions/${three}/operations`, { operations })).expect(201);
  // An update behind an increment is still one of the document as it was.
  (await up(four, 1)).expect(200);
  (await key.patch(`${documents}/a`, { data: { title: 'x' }, transactionId: four })).expect(200);
  for (const transaction of [one, two, three]) (await commit(transaction)).expect(200);
  assert.equal((await key.get(`${documents}/a`)).expect(200).body.n, 12);
  (await commit(four)).refused(409, 'transaction_conflict');
  assert.equal((await key.get(`${documents}/a`)).expect(200).body.n, 12);
});

test('an increment that is out of bounds at the commit, or of a deleted document, is refused then', async () => {
  const { documents } = await collection({ attributes: { n: { type: 'integer' } } });
  (await key.post(documents, { documentId: 'a', data: { n: 3 } })).expect(201);
  const [one, two, three] = [await begin(), await begin(), await begin()];
  const down = (transactionId: string) => key.patch(`${documents}/a/n/decrement`, { value: 2, min: 0, transactionId });
  for (const transaction of [one, two, three]) (await down(transaction)).expect(200);
  (await commit(one)).expect(200);
  (await commit(two)).refused(400, 'attribute_limit_exceeded');
  assert.equal((await key.get(`${documents}/a`)).expect(200).body.n, 1);
  (await key.delete(`${documents}/a`)).expect(204);
  (await commit(three)).refused(409, 'transaction_conflict');
});
