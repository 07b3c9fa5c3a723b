// Values that only differ from what a schema says by how some languages print them: PHP's empty objects, and booleans and numbers as text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const user = await aLoggedInUser(target);
const backend = await aBackend(target);
const { key, databaseId } = backend;
const description = (await key.get('/openapi.json')).body;
const paths = description.paths as Record<string, Record<string, { requestBody?: { content: object } }>>;

test('an empty list as a body is an empty object, on every route that takes JSON', async () => {
  let tried = 0;
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const takesJson = requestBody !== undefined && 'application/json' in requestBody.content;
      // GraphQL takes lists: batches.
      if (!takesJson || path.startsWith('/graphql')) continue;
      const route = path.replace(/\{\w+\}/g, 'x');
      for (const client of [user.client, key]) {
        const object = await client.request(method.toUpperCase(), route, {});
        if (object.status < 300) continue;
        const list = await client.request(method.toUpperCase(), route, []);
        const known = ({ status, body }: typeof list) => [status, body.type, body.message];
        assert.deepEqual(known(list), known(object), `${method} ${path}`);
        tried += 1;
      }
    }
  }
  assert.ok(tried > 100, String(tried));
});

test('an empty list is an empty object within bodies: data, preferences, related documents, operations', async () => {
  const text = { type: 'string', size: 50 };
  const parents = await backend.collection({ attributes: { name: text } });
  const children = await backend.collection({ attributes: { name: text } });
  for (const [type, name] of [
    ['oneToMany', 'kids'],
    ['oneToOne', 'pet'],
  ])
    (
      await key.post(`${parents.attributes}/relationship`, { relatedCollectionId: children.id, type, key: name })
    ).expect(202);
  (await key.post(parents.documents, { documentId: 'a', data: [] })).expect(201);
  (await key.put(`${parents.documents}/b`, { data: [], permissions: [] })).expect(200);
  const both = { kids: [[], { name: 'k' }], pet: [] };
  (await key.post(parents.documents, { documentId: 'c', data: both })).expect(201);
  assert.equal((await key.get(children.documents)).body.total, 3);
  (await key.patch(`${parents.documents}/c`, { data: { kids: [] } })).expect(200);
  const plain = await backend.collection({ attributes: { name: text } });
  assert.equal((await key.post(plain.documents, { documents: [[], { $id: 'd' }] })).expect(201).body.total, 2);
  const { $id } = (await key.post('/databases/transactions', [])).expect(201).body;
  const operation = { databaseId, collectionId: parents.id, documentId: 'e', action: 'create', data: [] };
  (await key.post(`/databases/transactions/${$id}/operations`, { operations: [operation] })).expect(201);
  (await key.patch(`/databases/transactions/${$id}`, { commit: 'true' })).expect(200);
  (await key.get(`${parents.documents}/e`)).expect(200);
  for (const [client, path] of [
    [user.client, '/account/prefs'],
    [key, `/users/${user.id}/prefs`],
  ] as const) {
    (await client.patch(path, { prefs: [] })).expect(200);
    assert.equal((await client.get(path)).text, '{}');
  }
  (await user.client.patch('/account/prefs', { prefs: [1] })).refused(400, 'general_argument_invalid');
});

test('booleans of query strings are words or digits', async () => {
  for (const path of ['/users', '/databases', '/teams', (await backend.collection()).documents])
    for (const [word, counts] of [
      ['1', true],
      ['true', true],
      ['0', false],
      ['false', false],
    ] as const) {
      const { total } = (await key.get(`${path}?total=${word}`)).expect(200).body;
      if (!counts) assert.equal(total, 0, path);
    }
  for (const word of ['', '2', 'yes', 'TRUE', '01'])
    (await key.get(`/users?total=${word}`)).refused(400, 'general_argument_invalid');
});

test('numbers and booleans of bodies may be text that is exactly one', async () => {
  const { attributes, documents } = await backend.collection({ attributes: { n: { type: 'integer' } } });
  const integer = { key: 'large', required: 'false', min: '0', max: '9007199254740993', default: '9007199254740993' };
  assert.match((await key.post(`${attributes}/integer`, integer)).expect(202).text, /"default":9007199254740993\b/);
  const float = (await key.post(`${attributes}/float`, { key: 'f', required: '0', default: '-1.5e1' })).expect(202);
  assert.equal(float.body.default, -15);
  const text = await key.post(`${attributes}/string`, { key: 's', size: '49', required: '1', array: 'true' });
  assert.deepEqual([text.expect(202).body.size, text.body.required, text.body.array], [49, true, true]);
  (await key.post(documents, { documentId: 'a', data: { n: 1, s: [] } })).expect(201);
  const step = (await key.patch(`${documents}/a/n/increment`, { value: '3', max: '100' })).expect(200);
  assert.equal(step.body.n, 4);
  const bucket = { bucketId: 'unique()', name: 'B', enabled: 'false', maximumFileSize: '1000' };
  const made = (await key.post('/storage/buckets', bucket)).expect(201).body;
  assert.deepEqual([made.enabled, made.maximumFileSize], [false, 1000]);
  for (const size of ['', ' 49', '49 ', '0x31', '049', '+49', '4_9', 'many', '49.5', '1e400', 'Infinity', '0'])
    (await key.post(`${attributes}/string`, { key: 'z', size, required: false })).refused(
      400,
      'general_argument_invalid',
    );
  for (const required of ['', 'no', 'True', '2', [], {}])
    (await key.post(`${attributes}/boolean`, { key: 'z', required })).refused(400, 'general_argument_invalid');
  // The values of documents are what their attributes say.
  (await key.post(documents, { documentId: 'b', data: { n: '1', s: [] } })).refused(400, 'document_invalid_structure');
});

test('members of bulk changes that are no lists are ignored', async () => {
  const { id, documents } = await backend.collection({ attributes: { n: { type: 'integer' } } });
  (await key.post(documents, { documents: [{ n: 1 }, { n: 2 }] })).expect(201);
  const rows = `/tablesdb/${databaseId}/tables/${id}/rows`;
  const equal = (n: number) => JSON.stringify({ method: 'equal', attribute: 'n', values: [n] });
  const more = { databaseId, collectionId: id, tableId: id, other: { a: 1 }, none: [] };
  assert.equal(
    (await key.patch(documents, { ...more, data: { n: 3 }, queries: [equal(1)] })).expect(200).body.total,
    1,
  );
  assert.equal((await key.patch(rows, { ...more, data: { n: 4 }, queries: [equal(3)] })).expect(200).body.total, 1);
  assert.equal((await key.request('DELETE', rows, { ...more, queries: [equal(4)] })).expect(200).body.total, 1);
  assert.equal((await key.request('DELETE', documents, { ...more, queries: [equal(2)] })).expect(200).body.total, 1);
});
