// Attributes and collections: what may be made and changed, and names that look like something else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printJson } from '#src/platform/text/json.js';
import { startAppliance } from '../harness/appliance.js';
import { rowsOf } from '../harness/database.js';
import { aBackend, inParallel, queryString } from './setup.js';

const target = await startAppliance();
const { key, databaseId, collection: aCollection } = await aBackend(target);

test('invalid attributes are refused', async () => {
  const { attributes } = await aCollection({ attributes: { taken: { type: 'boolean' } } });
  const create = (type: string, body: object) =>
    key.post(`${attributes}/${type}`, printJson({ key: 'new', required: false, ...body }));
  (await create('boolean', { key: 'taken' })).refused(409, 'attribute_already_exists');
  (await create('string', { size: 9, required: true, default: 'a' })).refused(400, 'attribute_default_unsupported');
  (await create('string', { size: 9, array: true, default: 'a' })).refused(400, 'attribute_default_unsupported');
  const values: [string, object][] = [
    ['string', { size: 2, default: 'abc' }],
    ['integer', { min: 1, default: 0 }],
    ['integer', { min: 2, max: 1 }],
    ['integer', { min: 2n ** 63n - 1n, max: 2n ** 63n - 2n }],
    ['float', { min: 0.2, max: 0.1 }],
    ['enum', { elements: ['a'], default: 'b' }],
    ['email', { default: 'nobody' }],
    ['url', { default: 'nowhere' }],
    ['ip', { default: '1.2.3' }],
    ['datetime', { default: 'never' }],
    ['integer', { max: 2n ** 63n }],
    ['integer', { min: -(2n ** 63n) - 1n }],
  ];
  for (const [type, body] of values) {
    const { status, text, body: answer } = await create(type, body);
    assert.deepEqual([status, answer.type], [400, 'attribute_value_invalid'], `${type} ${printJson(body)} ${text}`);
  }
  const arguments_: [string, object][] = [
    ...[0, -1, 1_073_741_825, 1.5, '9x'].map((size): [string, object] => ['string', { size }]),
    ...[[], [''], ['x'.repeat(256)], Array(101).fill('a'), 'a'].map((elements): [string, object] => [
      'enum',
      { elements },
    ]),
    ...['', 'a"b', "Robert'); drop table users;--", '_a', '$id', 'a b', 'é', 'x'.repeat(37), 7].map(
      (name): [string, object] => ['boolean', { key: name }],
    ),
    ['boolean', { required: null }],
    ['boolean', { default: 'yes' }],
  ];
  for (const [type, body] of arguments_) {
    const { status, body: answer } = await create(type, body);
    assert.deepEqual([status, answer.type], [400, 'general_argument_invalid'], `${type} ${printJson(body)}`);
  }
  (await create('relationship', {})).refused(400, 'general_argument_invalid');
  assert.equal((await key.get(attributes)).expect(200).body.total, 1);
});

test('keys may be words of SQL, of the tables and of JavaScript', async () => {
  const words = [
    'select',
    'SELECT',
    'from',
    'order',
    'id',
    'seq',
    'permissions',
    'created_at',
    'a_1',
    'document',
    'printed',
    'shape',
    'null',
  ];
  words.push('toString', 'hasOwnProperty', 'valueOf', 'rowid', 'oid', 'ctid', 'xmin', '1', 'a.b-c', 'data');
  const collection = await aCollection({
    attributes: Object.fromEntries(words.map((word) => [word, { type: 'string', size: 20 }])),
  });
  const data = Object.fromEntries(words.map((word) => [word, `of ${word}`]));
  const shown = (body: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => !name.startsWith('$')));
  const empty = (await key.post(collection.documents, { documentId: 'empty', data: {} })).expect(201).body;
  assert.deepEqual(shown(empty), Object.fromEntries(words.map((word) => [word, null])));
  const full = (await key.post(collection.documents, { documentId: 'full', data })).expect(201).body;
  assert.deepEqual(shown(full), data);
  assert.deepEqual(
    (await key.patch(`${collection.documents}/full`, { data: { id: 'new' } })).expect(200).body.id,
    'new',
  );
  for (const word of words) {
    (await key.post(collection.indexes, { key: word, type: 'key', attributes: [word] })).expect(202);
    const equal = { method: 'equal', attribute: word, values: [word === 'id' ? 'new' : `of ${word}`] };
    const queries = [equal, { method: 'orderDesc', attribute: word }, { method: 'select', values: [word] }];
    const list = (await key.get(`${collection.documents}${queryString(queries)}`)).expect(200).list('documents');
    assert.deepEqual(list.map(shown), [{ [word]: word === 'id' ? 'new' : `of ${word}` }]);
  }
});

test('a key that no body may hold is refused, at first and as a new name; so are two equal elements', async () => {
  const { attributes, documents } = await aCollection({
    attributes: { n: { type: 'integer' }, kind: { type: 'enum', elements: ['a', 'b'] } },
  });
  const refused = 'general_argument_invalid';
  const integer = { required: false, default: null };
  for (const word of ['constructor', 'prototype', '__proto__']) {
    (await key.post(`${attributes}/integer`, { ...integer, key: word })).refused(400, refused);
    (await key.patch(`${attributes}/integer/n`, { ...integer, newKey: word })).refused(400, refused);
  }
  const twice = { required: false, default: null, elements: ['a', 'b', 'a'] };
  (await key.post(`${attributes}/enum`, { ...twice, key: 'other' })).refused(400, refused);
  (await key.patch(`${attributes}/enum/kind`, twice)).refused(400, refused);
  (await key.post(`${attributes}/enum`, { ...twice, key: 'case', elements: ['a', 'A'] })).expect(202);
  (await key.post(documents, { documentId: 'as-before', data: { n: 1, kind: 'b' } })).expect(201);
});

test('the attributes of a collection are never more than every request on its documents should read', async () => {
  const { attributes } = await aCollection();
  const add = (name: string, length: number) =>
    key.post(`${attributes}/string`, { key: name, size: 1_000_000, required: false, default: 'x'.repeat(length) });
  (await add('a', 500_000)).expect(202);
  (await add('b', 500_000)).expect(202);
  (await add('c', 50_000)).refused(400, 'attribute_limit_exceeded');
  const change = { required: false, default: 'x'.repeat(900_000) };
  (await key.patch(`${attributes}/string/a`, change)).refused(400, 'attribute_limit_exceeded');
  (await add('c', 10)).expect(202);
});

test('a rename changes every reference; bounds and defaults apply to later writes', async () => {
  const collection = await aCollection({
    attributes: {
      old: { type: 'string', size: 9, default: 'x' },
      n: { type: 'integer', max: 9 },
      kind: { type: 'enum', elements: ['a', 'b'] },
    },
  });
  (await key.post(collection.indexes, { key: 'by', type: 'unique', attributes: ['old', 'n'] })).expect(202);
  const create = (data: object) => key.post(collection.documents, { documentId: 'unique()', data });
  const change = (path: string, body: object) => key.patch(`${collection.attributes}/${path}`, body);
  const made = (await create({ old: 'long', n: 9, kind: 'b' })).expect(201).body;

  const renamed = (await change('string/old', { required: false, default: 'y', newKey: 'new', size: 4 })).expect(
    200,
  ).body;
  assert.deepEqual([renamed.key, renamed.size, renamed.default], ['new', 4, 'y']);
  assert.deepEqual((await key.get(`${collection.indexes}/by`)).expect(200).body.attributes, ['new', 'n']);
  (await change('integer/n', { required: true, default: null, min: 1, max: 5 })).expect(200);
  (await change('enum/kind', { required: false, default: null, elements: ['a'] })).expect(200);

  const kept = (await key.get(`${collection.documents}/${made.$id}`)).expect(200).body;
  assert.deepEqual([kept.new, kept.old, kept.n, kept.kind], ['long', undefined, 9, 'b']);
  (await create({ old: 'a', n: 1 })).refused(400, 'document_invalid_structure');
  for (const data of [{ new: 'a' }, { new: 'abcde', n: 1 }, { n: 6 }, { n: 1, kind: 'b' }])
    (await create(data)).refused(400, 'document_invalid_structure');
  assert.equal((await create({ n: 1 })).expect(201).body.new, 'y');
  (await create({ n: 1 })).refused(409, 'document_unique_constraint_violation');
  (await change('string/old', { required: false, default: null })).refused(404, 'attribute_not_found');
  (await change('string/n', { required: false, default: null })).refused(400, 'attribute_type_invalid');
  (await change('string/new', { required: false, default: null, newKey: 'n' })).refused(
    409,
    'attribute_already_exists',
  );
  (await change('string/new', { required: false, default: 'abcde' })).refused(400, 'attribute_value_invalid');
  (await change('string/new', { required: true, default: 'a' })).refused(400, 'attribute_default_unsupported');
});

test('an attribute goes with its values and indexes, and its key is free again', async () => {
  const collection = await aCollection({ attributes: { a: { type: 'string', size: 9 }, b: { type: 'integer' } } });
  const at = `${collection.attributes}/a`;
  (await key.post(collection.indexes, { key: 'by', type: 'key', attributes: ['b', 'a'] })).expect(202);
  (await key.post(collection.documents, { documentId: 'one', data: { a: 'x', b: 1 } })).expect(201);
  (await key.delete(at)).expect(204);
  (await key.get(`${collection.indexes}/by`)).refused(404, 'index_not_found');
  (await key.delete(at)).refused(404, 'attribute_not_found');
  (await key.get(at)).refused(404, 'attribute_not_found');
  const query = queryString([{ method: 'isNull', attribute: 'a' }]);
  (await key.get(collection.documents + query)).refused(400, 'general_query_invalid');
  (await key.post(`${collection.attributes}/integer`, { key: 'a', required: false })).expect(202);
  assert.equal((await key.get(`${collection.documents}/one`)).expect(200).body.a, null);
  assert.equal((await key.patch(`${collection.documents}/one`, { data: { a: 5 } })).expect(200).body.a, 5);
});

test('a collection has room for 200 attributes', async () => {
  const collection = await aCollection();
  const names = Array.from({ length: 200 }, (_, at) => `attribute-${at}`);
  await inParallel(
    4,
    names.map((name) => async () => {
      (await key.post(`${collection.attributes}/integer`, { key: name, required: false })).expect(202);
    }),
  );
  assert.equal((await key.get(collection.path)).expect(200).list('attributes').length, 200);
  const data = Object.fromEntries(names.map((name, at) => [name, at]));
  const made = (await key.post(collection.documents, { documentId: 'one', data })).expect(201).body;
  for (const [name, value] of Object.entries(data)) assert.equal(made[name], value);
  (await key.patch(`${collection.documents}/one`, { data: { ...data, 'attribute-7': null } })).expect(200);
  const filters = names.slice(0, 60).map((name) => ({ method: 'isNotNull', attribute: name }));
  const missing = queryString([
    { method: 'or', values: filters },
    { method: 'orderDesc', attribute: 'attribute-9' },
  ]);
  assert.equal((await key.get(collection.documents + missing)).expect(200).body.total, 1);
  (await key.delete(`${collection.documents}/one`)).expect(204);
});

test('a collection that is made again under the same id is empty', async () => {
  const base = `/databases/${databaseId}/collections`;
  const documents = `${base}/again/documents`;
  for (const type of ['integer', 'boolean'] as const) {
    (await key.post(base, { collectionId: 'again', name: 'Again' })).expect(201);
    (await key.post(base, { collectionId: 'again', name: 'Again' })).refused(409, 'collection_already_exists');
    (await key.post(`${base}/again/attributes/${type}`, { key: 'v', required: false })).expect(202);
    assert.equal((await key.get(documents)).expect(200).body.total, 0);
    const v = type === 'integer' ? 7 : true;
    assert.equal((await key.post(documents, { documentId: 'one', data: { v } })).expect(201).body.v, v);
    assert.equal((await key.get(documents)).expect(200).body.total, 1);
    (await key.delete(`${base}/again`)).expect(204);
    (await key.get(documents)).refused(404, 'collection_not_found');
    (await key.post(documents, { documentId: 'two', data: {} })).refused(404, 'collection_not_found');
  }
});

test('a database goes with its collections', async () => {
  // The routes of such a database would be those of transactions.
  for (const path of ['/databases', '/tablesdb'])
    (await key.post(path, { databaseId: 'transactions', name: 'T' })).refused(400, 'general_argument_invalid');
  (await key.post('/databases', { databaseId: 'gone', name: 'Gone' })).expect(201);
  (await key.post('/databases/gone/collections', { collectionId: 'c', name: 'C' })).expect(201);
  (await key.get('/databases/gone/collections/c/documents')).expect(200);
  (await key.delete('/databases/gone')).expect(204);
  (await key.get('/databases/gone/collections/c/documents')).refused(404, 'database_not_found');
  assert.ok(!(await rowsOf(target, 'collections')).some((row) => row.database_id === 'gone'));
});

test('a database is deleted beside deletions of its collections and of itself: all is gone, without other errors', async () => {
  for (let round = 0; round < 8; round++) {
    const databaseId = `both-${round}`;
    const path = `/databases/${databaseId}`;
    (await key.post('/databases', { databaseId, name: 'both' })).expect(201);
    const ids = ['a', 'b', 'c', 'd'];
    for (const collectionId of ids)
      (await key.post(`${path}/collections`, { collectionId, name: collectionId })).expect(201);
    const answers = await Promise.all([
      ...ids.map((id) => key.delete(`${path}/collections/${id}`)),
      ...[1, 2].map(() => key.delete(path)),
    ]);
    for (const { status } of answers) assert.ok([204, 404].includes(status), String(status));
    assert.equal(answers.slice(4).filter(({ status }) => status === 204).length, 1);
    (await key.get(path)).refused(404, 'database_not_found');
  }
});
