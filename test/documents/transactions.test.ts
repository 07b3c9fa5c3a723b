// Transactions: operations wait until the commit, which carries all of them out or none, for the caller who has begun it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppwriteException, Databases, Client as Sdk, TablesDB } from 'node-appwrite';
import type { ErrorType } from '#src/contract/errors.js';
import { transactionLimits } from '#src/contract/limits.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { insertion, nothing, recordedBy, rowsOf } from '../harness/database.js';
import { aBackend } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const sibling = await target.startSibling({ settings: { SVC_RATE_LIMIT: 'off' } });
const { key, databaseId, collection: aCollection } = await aBackend(target);
const { secret } = await aServerKey(target);
const [here, there] = [createClient(target, { key: secret }), createClient(sibling, { key: secret })];
const ada = await aLoggedInUser(target);
const bob = await aLoggedInUser(target);
const guest = createClient(target);
const open = ['create', 'read', 'update', 'delete'].map((may) => `${may}("users")`);
const attributes = { n: { type: 'integer' }, u: { type: 'integer' }, title: { type: 'string', size: 400_000 } };
const transactions = '/databases/transactions';
const aPlace = async (permissions: readonly string[] = open, documentSecurity = false) => {
  const made = await aCollection({ permissions, documentSecurity, attributes });
  (await key.post(made.indexes, { key: 'by-u', type: 'unique', attributes: ['u'] })).expect(202);
  return made;
};
const begin = async (client: Client, body: object = {}) =>
  (await client.post(transactions, body)).expect(201).string('$id');
const commit = (client: Client, id: string, headers: Record<string, string> = {}) =>
  client.patch(`${transactions}/${id}`, { commit: true }, headers);
const rollBack = (client: Client, id: string) => client.patch(`${transactions}/${id}`, { rollback: true });
const statusOf = async (client: Client, id: string) =>
  (await client.get(`${transactions}/${id}`)).expect(200).string('status');
const idsOf = async (documents: string, query = '') =>
  (await here.get(`${documents}?queries[0]={"method":"limit","values":[5000]}${query}`))
    .expect(200)
    .list('documents')
    .map(({ $id }) => $id);
const stagedOf = async (id: string) =>
  (await rowsOf(target, 'transaction_operations')).filter((row) => row.transaction_id === id).length;

test('every write waits for the commit, is seen by reads of the transaction alone, and is then there with its event', async () => {
  const { documents } = await aPlace();
  for (const id of ['a', 'b', 'c']) (await key.post(documents, { documentId: id, data: { n: 1 } })).expect(201);
  const transactionId = await begin(here);
  const staged = await recordedBy(target, async () => {
    const created = (await here.post(documents, { documentId: 'unique()', data: { n: 5 }, transactionId })).expect(201);
    assert.equal(created.headers.get('etag'), null);
    const id = created.string('$id');
    (await here.patch(`${documents}/${id}`, { data: { title: 'T' }, transactionId })).expect(200);
    assert.equal((await here.get(`${documents}/${id}?transactionId=${transactionId}`)).expect(200).body.title, 'T');
    (await here.get(`${documents}/${id}`)).refused(404, 'document_not_found');
    const up = (await here.patch(`${documents}/a/n/increment`, { value: 4, transactionId })).expect(200);
    assert.equal(up.body.n, 5);
    assert.equal((await here.patch(`${documents}/a/n/decrement`, { transactionId })).expect(200).body.n, 4);
    (await here.put(`${documents}/d`, { data: { n: 7 }, transactionId })).expect(200);
    (await here.request('DELETE', `${documents}/b`, { transactionId })).expect(204);
    (await here.get(`${documents}/b?transactionId=${transactionId}`)).refused(404, 'document_not_found');
    (await here.post(documents, { documents: [{ $id: 'e', n: 8 }], transactionId })).expect(201);
    const queries = ['{"method":"equal","attribute":"$id","values":["c"]}'];
    const changed = (await here.patch(documents, { data: { n: 9 }, queries, transactionId })).expect(200);
    assert.equal(changed.body.total, 1);
    (await here.put(documents, { documents: [{ $id: 'f', n: 1 }], transactionId })).expect(200);
    (await here.request('DELETE', documents, { queries, transactionId })).expect(200);
    assert.deepEqual((await idsOf(documents, `&transactionId=${transactionId}`)).slice(0, 1), ['a']);
    assert.equal((await idsOf(documents, `&transactionId=${transactionId}`)).length, 5);
  });
  assert.deepEqual(staged.recorded, nothing);
  assert.deepEqual(await idsOf(documents), ['a', 'b', 'c']);
  const { recorded } = await recordedBy(target, async () => {
    const done = (await commit(there, transactionId)).expect(200);
    assert.deepEqual([done.body.status, done.body.operations], ['committed', 10]);
  });
  const names = [
    ...[
      'documentCreated',
      'documentUpdated',
      'documentUpdated',
      'documentUpdated',
      'documentCreated',
      'documentDeleted',
    ],
    ...['documentCreated', 'documentUpdated', 'documentCreated', 'documentDeleted'],
  ];
  names.sort();
  assert.deepEqual(recorded, { audit: names, events: names, messages: [] });
  const found = (await key.get(documents)).list('documents').map(({ n, title }) => [n, title]);
  assert.deepEqual(found, [
    [4, null],
    [5, 'T'],
    [7, null],
    [8, null],
    [1, null],
  ]);
  assert.equal(await stagedOf(transactionId), 0);
  (await commit(here, transactionId)).refused(400, 'transaction_not_ready');
  (await here.post(documents, { documentId: 'late', data: {}, transactionId })).refused(400, 'transaction_not_ready');
});

test('listed operations do the same, and one that is refused names itself and leaves nothing', async () => {
  const { documents, id: collectionId } = await aPlace();
  (await key.post(documents, { documentId: 'a', data: { n: 1 } })).expect(201);
  (await key.post(documents, { documentId: 'gone', data: { n: 1 } })).expect(201);
  const transactionId = await begin(here);
  const path = `${transactions}/${transactionId}/operations`;
  const place = { databaseId, collectionId };
  const all = [
    { ...place, action: 'create', documentId: 'b', data: { n: 2, $permissions: ['read("any")'] } },
    { ...place, action: 'update', documentId: 'a', data: { title: 'A' } },
    { ...place, action: 'upsert', documentId: 'c', data: { n: 3 } },
    { ...place, action: 'increment', documentId: 'a', data: { attribute: 'n', value: 10, max: 11 } },
    { ...place, action: 'decrement', documentId: 'c', data: { attribute: 'n' } },
    { ...place, action: 'delete', documentId: 'gone' },
    {
      ...place,
      action: 'bulkCreate',
      data: [
        { $id: 'd', n: 4 },
        { $id: 'e', n: 5 },
      ],
    },
    { ...place, action: 'bulkUpsert', data: [{ $id: 'd', title: 'D' }] },
    {
      ...place,
      action: 'bulkUpdate',
      data: { queries: ['{"method":"equal","attribute":"n","values":[5]}'], data: { n: 6 } },
    },
    { ...place, action: 'bulkDelete', data: { queries: ['{"method":"equal","attribute":"n","values":[4]}'] } },
  ];
  const { recorded } = await recordedBy(target, async () => {
    assert.equal((await here.post(path, { operations: all })).expect(201).body.operations, 10);
    const wrong: readonly (readonly [object, number, ErrorType])[] = [
      [{ ...place, action: 'create', documentId: 'b', data: {} }, 409, 'document_already_exists'],
      [{ ...place, action: 'create', documentId: 'bare' }, 400, 'document_missing_data'],
      [{ ...place, action: 'update', documentId: 'none', data: { n: 1 } }, 404, 'document_not_found'],
      [{ ...place, action: 'update', documentId: 'a', data: { wrong: 1 } }, 400, 'document_invalid_structure'],
      [{ ...place, collectionId: 'none', action: 'delete', documentId: 'a' }, 404, 'collection_not_found'],
      [{ ...place, action: 'update', data: { n: 1 } }, 400, 'transaction_invalid'],
      [{ ...place, action: 'bulkDelete', data: {} }, 400, 'transaction_invalid'],
      [{ ...place, action: 'bulkUpdate', data: { data: { n: 1 } } }, 400, 'transaction_invalid'],
      [{ ...place, action: 'bulkCreate', data: { n: 1 } }, 400, 'general_argument_invalid'],
      [{ ...place, action: 'increment', documentId: 'a', data: { attribute: 'title' } }, 400, 'attribute_type_invalid'],
    ];
    for (const [one, status, type] of wrong) {
      const ok = { ...place, action: 'update', documentId: 'a', data: { n: 1 } };
      const refusal = await here.post(path, { operations: [ok, one] });
      refusal.refused(status, type);
      assert.match(refusal.string('message'), /^Operation 12 \(/, type);
    }
    (await here.post(path, { operations: [{ ...place, action: 'drop' }] })).refused(400, 'general_argument_invalid');
  });
  assert.deepEqual(recorded, nothing);
  const done = await recordedBy(target, async () => {
    assert.equal((await commit(here, transactionId)).expect(200).body.operations, 10);
  });
  assert.equal(done.recorded.events.length, 11);
  const found = (await key.get(documents)).list('documents').map(({ $id, n, title }) => [$id, n, title]);
  assert.deepEqual(found.sort(), [
    ['a', 11, 'A'],
    ['b', 2, null],
    ['c', 2, null],
    ['e', 6, null],
  ]);
});

test('a document that was changed elsewhere is a conflict, and nothing of the transaction is there', async () => {
  const changes: readonly (readonly [string, (documents: string) => Promise<unknown>])[] = [
    ['changed', (documents) => key.patch(`${documents}/a`, { data: { n: 2 } })],
    ['deleted', (documents) => key.delete(`${documents}/a`)],
    ['created', (documents) => key.post(documents, { documentId: 'b', data: {} })],
    ['unique', (documents) => key.post(documents, { documentId: 'z', data: { u: 5 } })],
    ['upserted', (documents) => key.post(documents, { documentId: 'c', data: {} })],
  ];
  for (const [what, change] of changes) {
    const { documents } = await aPlace();
    (await key.post(documents, { documentId: 'a', data: { n: 1 } })).expect(201);
    const transactionId = await begin(here);
    (await here.post(documents, { documentId: 'first', data: {}, transactionId })).expect(201);
    (await here.patch(`${documents}/a`, { data: { title: 'x' }, transactionId })).expect(200);
    (await here.post(documents, { documentId: 'b', data: { u: 5 }, transactionId })).expect(201);
    (await here.put(`${documents}/c`, { data: {}, transactionId })).expect(200);
    await change(documents);
    const before = await idsOf(documents);
    const { recorded } = await recordedBy(target, async () => {
      const refusal = await commit(here, transactionId);
      refusal.refused(409, 'transaction_conflict');
      assert.match(refusal.string('message'), /^Operation [234] \(/, what);
    });
    assert.deepEqual(recorded, nothing, what);
    assert.deepEqual(await idsOf(documents), before, what);
    assert.equal(await statusOf(here, transactionId), 'failed', what);
    (await commit(here, transactionId)).refused(400, 'transaction_not_ready');
    assert.equal(await stagedOf(transactionId), 0);
  }
});

test('the commit fails with the name of a thing that disappeared', async () => {
  const { documents, path } = await aPlace();
  const other = await aPlace();
  const transactionId = await begin(here);
  (await here.post(other.documents, { documentId: 'kept', data: {}, transactionId })).expect(201);
  (await here.post(documents, { documentId: 'x', data: { n: 1 }, transactionId })).expect(201);
  (await key.delete(path)).expect(204);
  const refusal = await commit(here, transactionId);
  refusal.refused(404, 'collection_not_found');
  assert.match(refusal.string('message'), /^Operation 2 \(create in /);
  assert.deepEqual(await idsOf(other.documents), []);
});

test('rights are those of the caller, when an operation is staged and when it is committed', async () => {
  const { documents, path } = await aPlace(['create("users")'], true);
  const permissions = [`read("user:${ada.id}")`, `update("user:${ada.id}")`];
  (await key.post(documents, { documentId: 'a', data: { n: 1 }, permissions })).expect(201);
  const adas = await begin(ada.client);
  const bobs = await begin(bob.client);
  (await bob.client.patch(`${documents}/a`, { data: { n: 9 }, transactionId: bobs })).refused(
    404,
    'document_not_found',
  );
  (await ada.client.request('DELETE', `${documents}/a`, { transactionId: adas })).refused(401, 'user_unauthorized');
  (await ada.client.patch(documents, { data: { n: 1 }, transactionId: adas })).refused(
    401,
    'general_unauthorized_scope',
  );
  const bulk = { databaseId, collectionId: documents.split('/')[4], action: 'bulkDelete', data: { queries: [] } };
  (await ada.client.post(`${transactions}/${adas}/operations`, { operations: [bulk] })).refused(
    401,
    'general_unauthorized_scope',
  );
  (await ada.client.get(`${documents}?transactionId=${adas}`)).refused(401, 'general_unauthorized_scope');
  (await ada.client.patch(`${documents}/a`, { data: { n: 2 }, transactionId: adas })).expect(200);
  (await ada.client.post(documents, { documentId: 'new', data: { n: 3 }, transactionId: adas })).expect(201);
  (await key.put(path, { name: 'Closed', permissions: [] })).expect(200);
  const refusal = await commit(ada.client, adas);
  refusal.refused(401, 'user_unauthorized');
  assert.match(refusal.string('message'), /^Operation 2 /);
  assert.deepEqual(
    (await key.get(documents)).list('documents').map(({ n }) => n),
    [1],
  );
});

test("a transaction is its owner's alone, and a blocked user commits nothing", async () => {
  const { documents } = await aPlace();
  const eve = await aLoggedInUser(target);
  const transactionId = await begin(eve.client);
  (await eve.client.post(documents, { documentId: 'e', data: {}, transactionId })).expect(201);
  for (const other of [bob.client, here]) {
    (await commit(other, transactionId)).refused(404, 'transaction_not_found');
    (await rollBack(other, transactionId)).refused(404, 'transaction_not_found');
    (await other.delete(`${transactions}/${transactionId}`)).refused(404, 'transaction_not_found');
    (await other.get(`${transactions}/${transactionId}`)).refused(404, 'transaction_not_found');
    (await other.post(documents, { documentId: 'o', data: {}, transactionId })).refused(404, 'transaction_not_found');
    (await other.get(`${documents}/e?transactionId=${transactionId}`)).refused(404, 'transaction_not_found');
    (await other.post(`${transactions}/${transactionId}/operations`, { operations: [] })).refused(
      400,
      'general_argument_invalid',
    );
    assert.ok(!(await other.get(transactions)).list('transactions').some(({ $id }) => $id === transactionId));
  }
  (await guest.post(transactions, {})).refused(401, 'general_unauthorized_scope');
  const open = await aPlace(['create("any")']);
  (await guest.post(open.documents, { documentId: 'g', data: {}, transactionId })).refused(
    404,
    'transaction_not_found',
  );
  (await key.patch(`/users/${eve.id}/status`, { status: false })).expect(200);
  (await commit(eve.client, transactionId)).refused(403, 'user_blocked');
  (await key.patch(`/users/${eve.id}/status`, { status: true })).expect(200);
  assert.deepEqual(await idsOf(documents), []);
});

test('two processes that commit at once carry it out once, and an Idempotency-Key repeats the answer', async () => {
  const { documents } = await aPlace();
  (await key.post(documents, { documentId: 'a', data: { n: 0 } })).expect(201);
  const transactionId = await begin(here);
  const headers = { 'Idempotency-Key': 'stage-once' };
  const body = { documentId: 'unique()', data: { n: 1 }, transactionId };
  const [one, two] = await Promise.all([here.post(documents, body, headers), there.post(documents, body, headers)]);
  assert.equal(one.expect(201).text, two.expect(201).text);
  (await here.patch(`${documents}/a/n/increment`, { transactionId })).expect(200);
  const { recorded } = await recordedBy(target, async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => commit(at % 2 === 0 ? here : there, transactionId)),
    );
    const done = answers.filter(({ status }) => status === 200);
    assert.equal(done.length, 1);
    for (const answer of answers) if (answer.status !== 200) answer.refused(400, 'transaction_not_ready');
  });
  assert.deepEqual(recorded.events, ['documentCreated', 'documentUpdated']);
  assert.equal((await key.get(`${documents}/a`)).body.n, 1);
  const again = await begin(here);
  (await here.patch(`${documents}/a/n/increment`, { transactionId: again })).expect(200);
  const first = (await commit(here, again, { 'Idempotency-Key': 'commit-once' })).expect(200);
  const second = (await commit(there, again, { 'Idempotency-Key': 'commit-once' })).expect(200);
  assert.equal(first.text, second.text);
  assert.equal((await key.get(`${documents}/a`)).body.n, 2);
});

test('operations that are staged at once all get their place', async () => {
  const { documents } = await aPlace();
  const transactionId = await begin(here);
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, n) =>
      (n % 2 === 0 ? here : there).post(documents, { documentId: `p${n}`, data: { n }, transactionId }),
    ),
  );
  for (const answer of answers) answer.expect(201);
  assert.equal((await commit(here, transactionId)).expect(200).body.operations, 4);
  assert.deepEqual((await idsOf(documents)).sort(), ['p0', 'p1', 'p2', 'p3']);
});

test('If-Match holds against the document as it is, when the change is staged', async () => {
  const { documents } = await aPlace();
  const made = (await key.post(documents, { documentId: 'a', data: { n: 1 } })).expect(201);
  const tag = String(made.headers.get('etag'));
  const transactionId = await begin(here);
  const body = { data: { n: 2 }, transactionId };
  (await here.patch(`${documents}/a`, body, { 'If-Match': '"stale"' })).refused(412, 'general_precondition_failed');
  (await here.patch(`${documents}/a`, body, { 'If-Match': tag })).expect(200);
  (await here.patch(`${documents}/a`, body, { 'If-Match': tag })).refused(412, 'general_precondition_failed');
  (await commit(here, transactionId)).expect(200);
  assert.equal((await key.get(`${documents}/a`)).body.n, 2);
});

test('a transaction expires, is deleted by the job, and lives longer by a clock that is set back', async () => {
  const { documents } = await aPlace();
  const transactionId = await begin(here, { ttl: transactionLimits.minSeconds });
  (await here.post(documents, { documentId: 'x', data: {}, transactionId })).expect(201);
  target.clock.advance(-10_000);
  (await here.post(documents, { documentId: 'y', data: {}, transactionId })).expect(201);
  target.clock.advance(10_000 + transactionLimits.minSeconds * 1000 + 1);
  (await commit(here, transactionId)).refused(410, 'transaction_expired');
  (await rollBack(here, transactionId)).refused(410, 'transaction_expired');
  (await here.post(documents, { documentId: 'z', data: {}, transactionId })).refused(410, 'transaction_expired');
  (await here.get(`${documents}/x?transactionId=${transactionId}`)).refused(410, 'transaction_expired');
  target.clock.advance(transactionLimits.keptHours * 3_600_000);
  await target.appliance.features.jobs.run('transactions.prune');
  (await here.get(`${transactions}/${transactionId}`)).refused(404, 'transaction_not_found');
  assert.equal(await stagedOf(transactionId), 0);
  assert.deepEqual(await idsOf(documents), []);
});

test('rolled back and deleted transactions leave nothing, and the list shows what became of each', async () => {
  const carl = await aLoggedInUser(target);
  const { documents } = await aPlace();
  const [kept, gone] = [await begin(carl.client), await begin(carl.client)];
  for (const transactionId of [kept, gone])
    (await carl.client.post(documents, { documentId: 'unique()', data: {}, transactionId })).expect(201);
  (await rollBack(carl.client, kept)).expect(200);
  (await carl.client.delete(`${transactions}/${gone}`)).expect(204);
  const both = { commit: true, rollback: true };
  for (const body of [{}, both, { commit: false }])
    (await carl.client.patch(`${transactions}/${kept}`, body)).refused(400, 'general_bad_request');
  const listed = (await carl.client.get(transactions)).expect(200);
  assert.deepEqual([listed.body.total, listed.list('transactions').map(({ status }) => status)], [1, ['rolled_back']]);
  const query = '{"method":"equal","attribute":"status","values":["pending"]}';
  assert.equal((await carl.client.get(`${transactions}?queries[0]=${query}`)).expect(200).body.total, 0);
  assert.deepEqual(await idsOf(documents), []);
  for (const id of [kept, gone]) assert.equal(await stagedOf(id), 0);
  for (const ttl of [59, 3601, 'x', 1.5])
    (await carl.client.post(transactions, { ttl })).refused(400, 'general_argument_invalid');
});

test('operations, bytes, documents and open transactions are bounded', async () => {
  const { documents, id: collectionId } = await aPlace();
  const dora = await aLoggedInUser(target);
  const ids = [];
  for (let at = 0; at < transactionLimits.ofCaller; at++) ids.push(await begin(dora.client));
  (await dora.client.post(transactions, {})).refused(400, 'transaction_limit_exceeded');
  (await rollBack(dora.client, ids[0] ?? '')).expect(200);
  await begin(dora.client);
  const place = { databaseId, collectionId };
  const operations = Array.from({ length: transactionLimits.operations }, (_, n) => ({
    ...{ ...place, action: 'upsert', documentId: `d${n % 3}`, data: { n } },
  }));
  const transactionId = await begin(here);
  const path = `${transactions}/${transactionId}/operations`;
  (await here.post(path, { operations: [...operations, operations[0]] })).refused(400, 'general_argument_invalid');
  (await here.post(path, { operations })).expect(201);
  (await here.post(path, { operations: operations.slice(0, 1) })).refused(400, 'transaction_limit_exceeded');
  (await here.post(documents, { documentId: 'x', data: {}, transactionId })).refused(400, 'transaction_limit_exceeded');
  (await commit(here, transactionId)).expect(200);
  const large = await begin(here);
  const title = 'x'.repeat(390_000);
  for (let at = 0; at < 10; at++)
    (await here.post(documents, { documentId: 'unique()', data: { title }, transactionId: large })).expect(201);
  (await here.post(documents, { documentId: 'unique()', data: { title }, transactionId: large })).refused(
    400,
    'transaction_limit_exceeded',
  );
  (await rollBack(here, large)).expect(200);
  const wide = await begin(here);
  const hundred = (at: number) => Array.from({ length: 100 }, (_, n) => ({ $id: `w${at}-${n}` }));
  for (let at = 0; at < 10; at++)
    (await here.post(documents, { documents: hundred(at), transactionId: wide })).expect(201);
  (await here.post(documents, { documentId: 'unique()', data: {}, transactionId: wide })).refused(
    400,
    'transaction_limit_exceeded',
  );
  // Others go on writing while a thousand documents are committed.
  const committed = commit(here, wide);
  const waits = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const started = performance.now();
      (await there.post(documents, { documentId: 'unique()', data: {} })).expect(201);
      return performance.now() - started;
    }),
  );
  const { recorded } = await recordedBy(target, async () => {
    (await committed).expect(200);
  });
  assert.ok(recorded.audit.length <= 1000 + 10);
  assert.ok(Math.max(...waits) < 3000, String(waits));
});

test('open transactions of a project are bounded, whoever has begun them', async () => {
  const eric = await aLoggedInUser(target);
  const id = await begin(eric.client);
  const pending = (await rowsOf(target, 'transactions', target.project.id)).filter(
    (row) => row.status === 'pending' && Date.parse(String(row.expires_at)) >= target.clock.now(),
  );
  const own = pending.find((row) => row.id === id);
  const { sql, db } = target.appliance.runtime;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  await db.work(by, async (unit) => {
    for (let at = pending.length; at < transactionLimits.ofProject - 1; at++) {
      const row = { ...own, id: `filled-${at}`, owner: `user:filled-${at}` };
      await unit.run(insertion(target.appliance.runtime, 'transactions', [row]));
    }
  });
  try {
    await begin(eric.client);
    (await eric.client.post(transactions, {})).refused(400, 'transaction_limit_exceeded');
  } finally {
    await db.work(by, (unit) => unit.run(sql`delete from transactions where id like ${'filled-%'}`));
  }
});

test('the unmodified SDK uses transactions of Databases and TablesDB', async () => {
  const { id } = await aPlace();
  const sdk = new Sdk().setEndpoint(`${target.origin}/v1`).setProject(target.project.id).setKey(secret);
  const [databases, tables] = [new Databases(sdk), new TablesDB(sdk)];
  const { $id: first } = await databases.createTransaction({ ttl: 60 });
  await databases.createDocument({
    databaseId,
    collectionId: id,
    documentId: 'a',
    data: { n: 1 },
    transactionId: first,
  });
  await databases.createOperations({
    transactionId: first,
    operations: [{ databaseId, collectionId: id, action: 'increment', documentId: 'a', data: { attribute: 'n' } }],
  });
  const seen = await databases.getDocument({ databaseId, collectionId: id, documentId: 'a', transactionId: first });
  assert.equal(seen.n, 2);
  assert.equal((await databases.updateTransaction({ transactionId: first, commit: true })).status, 'committed');
  const { $id: second, status, operations } = await tables.createTransaction();
  assert.deepEqual([status, operations], ['pending', 0]);
  await tables.updateRow({ databaseId, tableId: id, rowId: 'a', data: { title: 'T' }, transactionId: second });
  await tables.createOperations({
    transactionId: second,
    operations: [
      { databaseId, tableId: id, action: 'increment', rowId: 'a', data: { column: 'n', value: 3 } },
      { databaseId, tableId: id, action: 'create', rowId: 'b', data: { n: 7 } },
    ],
  });
  const listed = await tables.listRows({ databaseId, tableId: id, transactionId: second });
  assert.deepEqual(
    listed.rows.map(({ n, $tableId }) => [n, $tableId]),
    [
      [5, id],
      [7, id],
    ],
  );
  await tables.deleteRow({ databaseId, tableId: id, rowId: 'b', transactionId: second });
  const bad = tables.updateRow({ databaseId, tableId: id, rowId: 'none', data: {}, transactionId: second });
  await assert.rejects(bad, (error) => error instanceof AppwriteException && error.type === 'row_not_found');
  await tables.updateTransaction({ transactionId: second, commit: true });
  assert.deepEqual(
    (await tables.listRows({ databaseId, tableId: id })).rows.map(({ n, title }) => [n, title]),
    [[5, 'T']],
  );
  assert.ok((await tables.listTransactions()).total >= 2);
  assert.equal((await tables.getTransaction({ transactionId: second })).status, 'committed');
  await tables.deleteTransaction({ transactionId: second });
  await databases.deleteTransaction({ transactionId: first });
});

test('refuses a write with its transaction in the URL, because it would run at once', async () => {
  const { documents } = await aPlace();
  (await key.post(documents, { documentId: 'a', data: { n: 1 } })).expect(201);
  const query = `?transactionId=${await begin(here)}`;
  for (const [method, path, body] of [
    ['POST', documents, { documentId: 'b' }],
    ['PATCH', `${documents}/a`, { data: { n: 2 } }],
    ['PUT', `${documents}/a`, { data: { n: 2 } }],
    ['DELETE', `${documents}/a`],
    ['PATCH', `${documents}/a/n/increment`, {}],
    ['PATCH', documents, { data: { n: 2 } }],
    ['DELETE', documents],
  ] as const)
    (await here.request(method, path + query, body)).refused(400, 'general_argument_invalid');
  assert.equal((await here.get(`${documents}/a`)).expect(200).body.n, 1);
});
