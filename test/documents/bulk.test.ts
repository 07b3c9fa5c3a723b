// Many documents by one request of a server key: all or none, one event for each, within bounds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bulkLimits } from '#src/contract/limits.js';
import { startAppliance } from '../harness/appliance.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { someCallers } from './callers.js';
import { refused, sdkCallers } from './sdk.js';
import { aBackend } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const { key, collection: aCollection } = await aBackend(target);
const { ada, guest, weakKey } = await someCallers(target);
const attributes = {
  n: { type: 'integer' },
  u: { type: 'integer' },
  title: { type: 'string', size: 400_000, default: 'none' },
};
const open = ['any', 'users'].flatMap((role) =>
  ['create', 'read', 'update', 'delete'].map((may) => `${may}("${role}")`),
);
const aPlace = async () => {
  const made = await aCollection({ permissions: open, attributes });
  (await key.post(made.indexes, { key: 'by-u', type: 'unique', attributes: ['u'] })).expect(202);
  return made;
};
const query = (method: string, attribute: string, ...values: unknown[]) =>
  JSON.stringify({ method, attribute, values });
const remove = (path: string, queries: readonly string[]) => key.request('DELETE', path, { queries });
const many = (count: number, name: string) => Array.from({ length: count }, (_, n) => ({ $id: `${name}-${n}`, n }));
const numbers = async (path: string) =>
  (await key.get(`${path}?queries[0]={"method":"limit","values":[5000]}`)).list('documents').map(({ n }) => n);
const times = (count: number, name: string) => Array.from({ length: count }, () => name);

test('documents are created, upserted, updated and deleted together, each with its event', async () => {
  const { documents } = await aPlace();
  const step = async (act: () => Promise<{ body: Record<string, unknown> }>, events: readonly string[]) => {
    let body: Record<string, unknown> = {};
    const { recorded } = await recordedBy(target, async () => {
      body = (await act()).body;
    });
    assert.deepEqual(recorded, { audit: events, events, messages: [] });
    return body as { total: number; documents: Record<string, unknown>[] };
  };
  const made = await step(
    async () => (await key.post(documents, { documents: [...many(3, 'a'), { n: 3 }] })).expect(201),
    times(4, 'documentCreated'),
  );
  assert.deepEqual([made.total, made.documents.map(({ n }) => n)], [4, [0, 1, 2, 3]]);
  assert.deepEqual(made.documents[0]?.$permissions, []);
  assert.equal(made.documents[0]?.title, 'none');
  const given = [
    { $id: 'a-0', n: 10 },
    { $id: 'b', n: 11, $permissions: ['read("any")'] },
  ];
  const put = await step(
    async () => (await key.put(documents, { documents: given })).expect(200),
    ['documentCreated', 'documentUpdated'],
  );
  assert.deepEqual(
    put.documents.map(({ $permissions }) => $permissions),
    [[], ['read("any")']],
  );
  const data = { title: 'new', $permissions: ['read("users")'] };
  const queries = [
    query('greaterThan', 'n', 2),
    '{"method":"orderDesc","attribute":"n"}',
    '{"method":"limit","values":[2]}',
  ];
  const changed = await step(
    async () => (await key.patch(documents, { data, queries })).expect(200),
    times(2, 'documentUpdated'),
  );
  assert.deepEqual(
    changed.documents.map(({ n, title, $permissions }) => [n, title, $permissions]),
    [
      [11, 'new', ['read("users")']],
      [10, 'new', ['read("users")']],
    ],
  );
  const gone = await step(
    async () => (await remove(documents, [query('equal', 'title', 'new')])).expect(200),
    times(2, 'documentDeleted'),
  );
  assert.deepEqual(
    gone.documents.map(({ n }) => n),
    [10, 11],
  );
  assert.deepEqual(await numbers(documents), [1, 2, 3]);
  assert.equal((await remove(documents, [query('equal', 'n', 99)])).expect(200).body.total, 0);
});

test('a refused request changes nothing', async () => {
  const { documents } = await aPlace();
  (await key.post(documents, { documents: [...many(3, 'a'), { $id: 'u', u: 1 }] })).expect(201);
  const before = await rowsOf(target, 'events');
  const cases: readonly (readonly [string, unknown, number, string])[] = [
    ['POST', { documents: [{ $id: 'x' }, { $id: 'a-1' }] }, 409, 'document_already_exists'],
    ['POST', { documents: [{ $id: 'x' }, { $id: 'x' }] }, 409, 'document_already_exists'],
    ['POST', { documents: [{ $id: 'x' }, { u: 1 }] }, 409, 'document_unique_constraint_violation'],
    ['POST', { documents: [{ $id: 'x' }, { n: 'one' }] }, 400, 'document_invalid_structure'],
    ['POST', { documents: [{ $id: 'x' }], documentId: 'y', data: {} }, 400, 'general_bad_request'],
    ['POST', { documents: [] }, 400, 'general_argument_invalid'],
    ['POST', { documents: many(bulkLimits.given + 1, 'x') }, 400, 'general_argument_invalid'],
    ['POST', { data: {} }, 400, 'general_argument_invalid'],
    ['PUT', { documents: [{ $id: 'x' }, { $id: 'a-1', u: 1 }] }, 409, 'document_unique_constraint_violation'],
    ['PUT', { documents: [{ $id: 'x' }, { $id: 'x' }] }, 409, 'document_already_exists'],
    ['PATCH', { data: { u: 2 } }, 409, 'document_unique_constraint_violation'],
    ['PATCH', { data: {} }, 400, 'document_missing_payload'],
    ['PATCH', { data: { none: 1 } }, 400, 'document_invalid_structure'],
    ['PATCH', { data: { n: 1 }, queries: [query('equal', 'none', 1)] }, 400, 'general_query_invalid'],
    ['DELETE', { queries: ['{"method":"cursorAfter","values":["a-1"]}'] }, 400, 'general_query_invalid'],
    ['DELETE', { queries: ['nonsense'] }, 400, 'general_query_invalid'],
  ];
  for (const [method, body, status, type] of cases)
    (await key.request(method, documents, body)).refused(status, type as 'general_bad_request');
  for (const caller of [ada, guest, weakKey])
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      (await caller.client.request(method, documents, { documents: [{}], data: { n: 1 } })).refused(
        401,
        'general_unauthorized_scope',
      );
  assert.deepEqual(await numbers(documents), [0, 1, 2, null]);
  assert.equal((await rowsOf(target, 'events')).length, before.length);
});

test('a request changes a limited number of documents and bytes', async () => {
  const { documents } = await aPlace();
  for (let at = 0; at <= bulkLimits.matched; at += bulkLimits.given)
    (await key.post(documents, { documents: many(bulkLimits.given, `m${at}`) })).expect(201);
  (await key.patch(documents, { data: { n: 1 } })).refused(400, 'general_bad_request');
  (await remove(documents, [])).refused(400, 'general_bad_request');
  // As many bytes as the value times the documents.
  const limited = ['{"method":"limit","values":[100]}'];
  (await key.patch(documents, { data: { title: 'x'.repeat(100_000) }, queries: limited })).refused(
    400,
    'general_bad_request',
  );
  const all = (await key.patch(documents, { data: { n: 7 }, queries: ['{"method":"limit","values":[1000]}'] })).expect(
    200,
  );
  assert.deepEqual([all.body.total, all.list('documents').length], [1000, bulkLimits.echoed]);
  const gone = (await remove(documents, ['{"method":"limit","values":[1000]}'])).expect(200);
  assert.equal(gone.body.total, 1000);
  assert.equal((await numbers(documents)).length, 100);
});

test('the SDK makes every one of these calls, and repeats one by its key', async () => {
  const { databaseId, id: collectionId, documents } = await aPlace();
  const { server, adas } = await sdkCallers(target);
  const of = { databaseId, collectionId };
  const made = await server.createDocuments({ ...of, documents: many(3, 's') });
  assert.equal(made.total, 3);
  await server.upsertDocuments({ ...of, documents: [{ $id: 's-0', n: 5 }] });
  assert.equal(
    (await server.updateDocuments({ ...of, data: { title: 't' }, queries: [query('equal', 'n', 5)] })).total,
    1,
  );
  await server.upsertDocument({ ...of, documentId: 's-9', data: { n: 9n } });
  const up = await server.incrementDocumentAttribute({ ...of, documentId: 's-9', attribute: 'n', value: 2 });
  const down = await server.decrementDocumentAttribute({ ...of, documentId: 's-9', attribute: 'n', min: 0 });
  assert.deepEqual([up.n, down.n], [11, 10]);
  assert.equal((await server.deleteDocuments({ ...of, queries: [query('notEqual', 'n', 10)] })).total, 3);
  await refused(adas.createDocuments({ ...of, documents: many(1, 'a') }), 401, 'general_unauthorized_scope');
  const [once, twice] = [
    await key.post(documents, { documents: [{}, {}] }, { 'Idempotency-Key': 'bulk' }),
    await key.post(documents, { documents: [{}, {}] }, { 'Idempotency-Key': 'bulk' }),
  ];
  assert.equal(twice.expect(201).text, once.expect(201).text);
});

test('queries in the address are refused: there they would say nothing, and every document be meant', async () => {
  const { documents } = await aPlace();
  (await key.post(documents, { documents: many(3, 'a') })).expect(201);
  const one = encodeURIComponent(query('equal', 'n', 1));
  for (const search of [`queries[]=${one}`, `queries=${one}`, `queries%5B0%5D=${one}`, `query=${one}`]) {
    (await key.delete(`${documents}?${search}`)).refused(400, 'general_argument_invalid');
    (await key.patch(`${documents}?${search}`, { data: { n: 9 } })).refused(400, 'general_argument_invalid');
  }
  assert.deepEqual(await numbers(documents), [0, 1, 2]);
});

test('a mistyped member is refused: without queries every document would be meant', async () => {
  const { documents } = await aPlace();
  (await key.post(documents, { documents: many(3, 'a') })).expect(201);
  const mine = [query('equal', 'n', 1)];
  const tables = documents
    .replace('/databases/', '/tablesdb/')
    .replace('/collections/', '/tables/')
    .replace(/documents$/, 'rows');
  for (const path of [documents, tables]) {
    const wrong = await key.request('DELETE', path, { querys: mine });
    assert.match(wrong.refused(400, 'general_argument_invalid').string('message'), /querys/);
    (await key.patch(path, { data: { n: 9 }, filter: mine })).refused(400, 'general_argument_invalid');
  }
  assert.deepEqual(await numbers(documents), [0, 1, 2]);
});
