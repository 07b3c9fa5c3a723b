// Attributes and indexes that are given with a new collection: all of them are there, or nothing is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Databases, TablesDB } from 'node-appwrite';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import type { Answer } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { refused } from './sdk.js';
import { aBackend } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const { key, databaseId } = await aBackend(target);
const { secret } = await aServerKey(target);
const sdk = new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id).setKey(secret);
const [databases, tables] = [new Databases(sdk), new TablesDB(sdk)];
const collections = `/databases/${databaseId}/collections`;

const attributes = [
  { key: 'title', type: 'string', size: 60, required: true },
  { key: 'month', type: 'integer', required: true, min: 1, max: 12 },
  { key: 'ratio', type: 'float', default: 0 },
  { key: 'share', type: 'double', max: 1 },
  { key: 'flag', type: 'boolean', default: true },
  { key: 'at', type: 'datetime', required: false },
  { key: 'mail', type: 'string', format: 'email', size: 512 },
  { key: 'link', type: 'url' },
  { key: 'kind', type: 'enum', elements: ['a', 'b'], default: 'a' },
  { key: 'tags', type: 'string', size: 9, array: true },
  { key: 'body', type: 'text' },
];
const indexes = [
  { key: 'by-month', type: 'key', attributes: ['month', 'title'], orders: ['DESC'], lengths: [0, 10] },
  { key: 'words', type: 'fulltext', attributes: ['body'] },
];

test('they are as if each had been created by its own call, and answered', async () => {
  const given = await databases.createCollection({
    databaseId,
    collectionId: 'given',
    name: 'Given',
    attributes,
    indexes,
  });
  await databases.createCollection({ databaseId, collectionId: 'steps', name: 'Steps' });
  const of = { databaseId, collectionId: 'steps' };
  const optional = { ...of, required: false };
  await databases.createStringAttribute({ ...of, key: 'title', size: 60, required: true });
  await databases.createIntegerAttribute({ ...of, key: 'month', required: true, min: 1, max: 12 });
  await databases.createFloatAttribute({ ...optional, key: 'ratio', xdefault: 0 });
  await databases.createFloatAttribute({ ...optional, key: 'share', max: 1 });
  await databases.createBooleanAttribute({ ...optional, key: 'flag', xdefault: true });
  await databases.createDatetimeAttribute({ ...optional, key: 'at' });
  await databases.createEmailAttribute({ ...optional, key: 'mail' });
  await databases.createUrlAttribute({ ...optional, key: 'link' });
  await databases.createEnumAttribute({ ...optional, key: 'kind', elements: ['a', 'b'], xdefault: 'a' });
  await databases.createStringAttribute({ ...optional, key: 'tags', size: 9, array: true });
  await databases.createTextAttribute({ ...optional, key: 'body' });
  const attributesOfIndex = ['month', 'title'];
  await databases.createIndex({
    ...of,
    key: 'by-month',
    type: 'key' as never,
    attributes: attributesOfIndex,
    orders: ['DESC'] as never,
    lengths: [0, 10],
  });
  await databases.createIndex({ ...of, key: 'words', type: 'fulltext' as never, attributes: ['body'] });
  const steps = await databases.getCollection(of);
  const timeless = ({ attributes, indexes }: object & { attributes: unknown; indexes: unknown }) =>
    JSON.parse(JSON.stringify([attributes, indexes]).replaceAll(/(At":")[^"]+/g, '$1'));
  assert.equal(given.attributes.length, attributes.length);
  assert.deepEqual(timeless(given as never), timeless(steps as never));
  assert.deepEqual(await databases.getCollection({ databaseId, collectionId: 'given' }), given);
  const data = { title: 'One', month: 1, body: 'a needle in a haystack' };
  const made = await databases.createDocument({ databaseId, collectionId: 'given', documentId: 'one', data });
  assert.deepEqual([made.ratio, made.flag, made.kind], [0, true, 'a']);
  const { total } = await databases.listDocuments({
    databaseId,
    collectionId: 'given',
    queries: [JSON.stringify({ method: 'search', attribute: 'body', values: ['needle'] })],
  });
  assert.equal(total, 1);
});

test('tables take columns, and indexes that say columns or attributes', async () => {
  const made = await tables.createTable({
    databaseId,
    tableId: 'unique()',
    name: 'Months',
    columns: attributes,
    indexes: [
      { key: 'one', type: 'unique', attributes: ['title'] },
      { key: 'two', type: 'key', columns: ['month'] },
    ],
  });
  assert.equal(made.columns.length, attributes.length);
  assert.deepEqual(
    made.indexes.map(({ columns }) => columns),
    [['title'], ['month']],
  );
  const row = { databaseId, tableId: made.$id, data: { title: 'One', month: 2 } as object };
  await tables.createRow({ ...row, rowId: 'one' });
  await refused(tables.createRow({ ...row, rowId: 'two' }), 409, 'row_unique_constraint_violation');
});

test('if one attribute is refused, it is named, and nothing is created', async () => {
  const title = { key: 'title', type: 'string', size: 9 };
  const index = { key: 'by', type: 'key', attributes: ['title'] };
  const cases: [object, number, Parameters<Answer['refused']>[1], RegExp][] = [
    [{ attributes: [title, { key: 'n', type: 'string' }] }, 400, 'general_argument_invalid', /^Attribute n: .*size/],
    [{ attributes: [{ key: 'n', type: 'point' }] }, 400, 'general_argument_invalid', /^Attribute n: .*one of string,/],
    [{ attributes: [{ key: 'n', type: 'relationship' }] }, 400, 'general_feature_unsupported', /^Attribute n: /],
    [{ attributes: [{ ...title, encrypt: true }] }, 400, 'general_bad_request', /"title".*150/],
    [
      { attributes: [{ key: 'n', type: 'integer', signed: false }] },
      400,
      'general_feature_unsupported',
      /^Attribute n: /,
    ],
    [{ attributes: [{ key: '$id', type: 'boolean' }] }, 400, 'general_argument_invalid', /^Attribute \$id: /],
    [{ attributes: [title, title] }, 409, 'attribute_already_exists', /"title"/],
    [{ attributes: [{ ...title, default: 'longer than nine' }] }, 400, 'attribute_value_invalid', /"title"/],
    [{ attributes: [{ ...title, required: true, default: 'a' }] }, 400, 'attribute_default_unsupported', /"title"/],
    [{ attributes: [{ key: 'n', type: 'enum' }] }, 400, 'general_argument_invalid', /^Attribute n: .*elements/],
    [{ attributes: [title], indexes: [index, index] }, 409, 'index_already_exists', /^Index by: /],
    [{ indexes: [index] }, 400, 'attribute_unknown', /^Index by: .*title/],
    [
      { attributes: [title], indexes: [{ ...index, type: 'spatial' }] },
      400,
      'general_argument_invalid',
      /^Index by: .*type/,
    ],
    [{ attributes: [title], indexes: [{ ...index, attributes: [] }] }, 400, 'general_argument_invalid', /^Index by: /],
    [{ attributes: [null] }, 400, 'general_argument_invalid', /attributes\.0/],
    [
      { attributes: Array.from({ length: 101 }, (_, at) => ({ key: `a${at}`, type: 'boolean' })) },
      400,
      'general_argument_invalid',
      /at most 100/,
    ],
    [
      { indexes: Array.from({ length: 65 }, (_, at) => ({ ...index, key: `i${at}` })) },
      400,
      'general_argument_invalid',
      /at most 64/,
    ],
  ];
  const { recorded } = await recordedBy(target, async () => {
    for (const [body, status, type, message] of cases) {
      const answer = await key.post(collections, { collectionId: 'refused', name: 'Refused', ...body });
      answer.refused(status, type);
      assert.match(String(answer.body.message), message);
    }
  });
  assert.deepEqual(recorded, nothing);
  (await key.get(`${collections}/refused`)).refused(404, 'collection_not_found');
  (await key.post(collections, { collectionId: 'refused', name: 'Not taken' })).expect(201);
});

test('they take the scopes of the calls that add them', async () => {
  const { client } = await aServerKey(target, { scopes: ['collections.write', 'indexes.write'] });
  const body = { collectionId: 'scopes', name: 'Scopes' };
  const refusal = await client.post(collections, { ...body, attributes: [{ key: 'n', type: 'boolean' }] });
  refusal.refused(401, 'general_unauthorized_scope');
  assert.match(String(refusal.body.message), /attributes\.write/);
  (await client.post(collections, { ...body, attributes: [], indexes: null })).expect(201);
});

test('each is recorded, and a hundred at once are created in one go', async () => {
  const many = Array.from({ length: 100 }, (_, at) => ({ key: `a${at}`, type: 'integer' }));
  const some = Array.from({ length: 64 }, (_, at) => ({ key: `i${at}`, type: 'key', attributes: [`a${at}`] }));
  const { recorded } = await recordedBy(target, async () => {
    const { body } = (
      await key.post(collections, { collectionId: 'many', name: 'Many', attributes: many, indexes: some })
    ).expect(201);
    assert.deepEqual(
      [body.attributes, body.indexes].map((list) => (list as unknown[]).length),
      [100, 64],
    );
  });
  assert.deepEqual(
    ['collectionCreated', 'attributeCreated', 'indexCreated'].map(
      (action) => recorded.audit.filter((one) => one === action).length,
    ),
    [1, 100, 64],
  );
});

test('beside the deletion of its database a collection is created before it, or not at all', async () => {
  const statuses = new Set<number>();
  for (let round = 0; round < 5; round++) {
    (await key.post('/databases', { databaseId: 'gone', name: 'Gone' })).expect(201);
    const body = { name: 'C', attributes: [{ key: 'a', type: 'integer' }] };
    const answers = await Promise.all([
      ...['a', 'b', 'c'].map((collectionId) => key.post('/databases/gone/collections', { collectionId, ...body })),
      key.delete('/databases/gone'),
    ]);
    for (const { status } of answers) statuses.add(status);
    (await key.get('/databases/gone')).refused(404, 'database_not_found');
  }
  assert.deepEqual(
    [...statuses].filter((status) => ![201, 204, 404].includes(status)),
    [],
  );
});
