// What a request of a transaction costs: each carries out again what was staged before, in a unit of work that others wait for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import type { Answer } from '../harness/client.js';
import { aBackend } from './setup.js';

// Calls become available again so slowly that none does meanwhile.
const target = await startAppliance({ settings: { SVC_RATE_LIMITS: 'data=600/36000' } });
const { collection } = await aBackend(target);
const { client } = await aServerKey(target);
const transactions = '/databases/transactions';

/** How many calls a request counts as. */
async function costOf(act: () => Promise<Answer>, status = 200): Promise<number> {
  const before = Number((await client.get('/databases')).headers.get('X-RateLimit-Remaining'));
  return before - Number((await act()).expect(status).headers.get('X-RateLimit-Remaining'));
}

test('a request with a transaction id pays for all documents that it changes, also for reads', async () => {
  const { documents } = await collection({ attributes: { n: { type: 'integer' } } });
  const id = (await client.post(transactions, {})).expect(201).string('$id');
  const many = Array.from({ length: 95 }, (_, n) => ({ $id: `p${n}`, n }));
  (await client.post(documents, { documents: many, transactionId: id })).expect(201);
  const within = `?transactionId=${id}`;
  assert.equal(await costOf(() => client.get(`${documents}/p1${within}`)), 10);
  assert.equal(await costOf(() => client.get(`${documents}${within}`)), 10);
  assert.equal(await costOf(() => client.patch(`${documents}/p1`, { data: { n: 1 }, transactionId: id })), 10);
  assert.equal(await costOf(() => client.patch(`${transactions}/${id}`, { commit: true })), 10);
  assert.equal(await costOf(() => client.get(`${documents}/p1`)), 1);
});

test('documents that are written below others count as well', async () => {
  const [parents, children] = [await collection(), await collection({ attributes: { n: { type: 'integer' } } })];
  const relation = { relatedCollectionId: children.id, type: 'manyToMany', key: 'children' };
  (await client.post(`${parents.attributes}/relationship`, relation)).expect(202);
  const id = (await client.post(transactions, {})).expect(201).string('$id');
  const data = { children: Array.from({ length: 49 }, (_, n) => ({ n })) };
  (await client.post(parents.documents, { documentId: 'p', data, transactionId: id })).expect(201);
  assert.equal(await costOf(() => client.get(`${parents.documents}/p?transactionId=${id}`)), 5);
});

test('what would be more calls than the limit ever has is more than a transaction takes', async () => {
  const few = await startAppliance({ settings: { SVC_RATE_LIMITS: 'data=8/60' } });
  const { databaseId, collection: another } = await aBackend(few);
  const { client: caller } = await aServerKey(few);
  const { id: collectionId, documents } = await another({ attributes: { n: { type: 'integer' } } });
  const id = (await caller.post(transactions, {})).expect(201).string('$id');
  const many = Array.from({ length: 95 }, (_, n) => ({ $id: `p${n}`, n }));
  (await caller.post(documents, { documents: many, transactionId: id })).expect(201);
  (await caller.get(`${documents}?transactionId=${id}`)).refused(400, 'transaction_limit_exceeded');
  const operations = [{ databaseId, collectionId, documentId: 'p1', action: 'delete' }];
  (await caller.post(`${transactions}/${id}/operations`, { operations })).refused(400, 'transaction_limit_exceeded');
  (await caller.patch(`${transactions}/${id}`, { commit: true })).refused(400, 'transaction_limit_exceeded');
});
