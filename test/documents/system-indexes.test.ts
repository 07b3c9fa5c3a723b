// Indexes over `$id`, `$sequence`, `$createdAt` and `$updatedAt`, alone and beside attributes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQueries } from '#src/features/data/documents/query/parse.js';
import { createDocumentStore } from '#src/features/data/documents/store/store.js';
import { printJson } from '#src/platform/text/json.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { fill } from './filled.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance();
const { key, databaseId, collection: aCollection } = await aBackend(target);
const { runtime, features } = target.appliance;
const rows = 4000;

const up = (attribute: string) => ({ method: 'orderAsc', attribute });
const down = (attribute: string) => ({ method: 'orderDesc', attribute });
const where = (method: string, attribute: string, ...values: unknown[]) => ({ method, attribute, values });

test('an index over one such member needs no table, and a unique one holds', async () => {
  const { documents, indexes } = await aCollection({ attributes: { a: { type: 'string', size: 9 } } });
  for (const name of ['$id', '$sequence', '$createdAt', '$updatedAt']) {
    const made = (await key.post(indexes, { key: name.slice(1), type: 'key', attributes: [name] })).expect(202).body;
    assert.deepEqual((await key.get(`${indexes}/${name.slice(1)}`)).expect(200).body, made);
    (await key.delete(`${indexes}/${name.slice(1)}`)).expect(204);
  }
  for (const [name, attributes] of Object.entries({
    own: ['$id'],
    both: ['a', '$id'],
    moment: ['a', '$createdAt'],
  }))
    (await key.post(indexes, { key: name, type: 'unique', attributes })).expect(202);
  const $createdAt = '2026-01-01T00:00:00.000Z';
  const create = (documentId: string, data: object) => key.post(documents, { documentId, data });
  (await create('one', { a: 'x', $createdAt })).expect(201);
  (await create('two', { a: 'x' })).expect(201);
  (await create('three', { a: 'y', $createdAt })).expect(201);
  (await create('four', { a: 'x', $createdAt })).refused(409, 'document_unique_constraint_violation');
  (await create('one', { a: 'z' })).refused(409, 'document_already_exists');
  (await key.patch(`${documents}/three`, { data: { a: 'x' } })).refused(409, 'document_unique_constraint_violation');
  const refusal = (await key.patch(`${documents}/three`, { data: { a: 'x' } })).body.message;
  assert.match(String(refusal), /"moment"/);
});

test('what such an index cannot be is refused', async () => {
  const { indexes } = await aCollection({ attributes: { a: { type: 'string', size: 9 } } });
  const create = (body: object) => key.post(indexes, { key: 'x', type: 'key', ...body });
  (await create({ attributes: ['$permissions'] })).refused(400, 'attribute_unknown');
  (await create({ attributes: ['$id', '$id'] })).refused(400, 'index_invalid');
  (await create({ type: 'fulltext', attributes: ['$id'] })).refused(400, 'index_invalid');
  (await create({ attributes: ['a', '$'] })).refused(400, 'general_argument_invalid');
});

// Last: SQLite keeps the snapshot of an EXPLAIN open on its connection.
test('lists in the order of a time within a value read the composite index and sort nothing', async () => {
  const made = await aCollection({ attributes: { a: { type: 'string', size: 9 }, n: { type: 'integer' } } });
  (await key.post(made.documents, { documentId: 'model', data: { a: 'a0', n: 0 } })).expect(201);
  const [found] = await runSql(target, `select number from collections where id = '${made.id}'`);
  const tens = databaseUnderTest === 'sqlite' ? "'a' || (i % 40)" : "'a' || (i % 40)::text";
  const day = databaseUnderTest === 'sqlite' ? "printf('%02d', i % 28 + 1)" : "lpad((i % 28 + 1)::text, 2, '0')";
  const time = `'2026-01-' || ${day} || 'T00:00:00.000+00:00'`;
  const filled = { a_1: tens, a_2: 'i', created_at: time, updated_at: time };
  await fill((text) => runSql(target, text), databaseUnderTest, made.id, rows, filled);
  const indexes = {
    newest: [
      ['a', '$createdAt'],
      ['ASC', 'DESC'],
      [where('equal', 'a', 'a7'), down('$createdAt')],
    ],
    changed: [
      ['a', '$updatedAt'],
      ['ASC', 'ASC'],
      [where('equal', 'a', 'a7'), down('$updatedAt')],
    ],
    since: [['n', '$createdAt'], [], [where('equal', 'n', 9), where('greaterThan', '$createdAt', '2026-01-05')]],
    byId: [['a', '$id'], [], [where('equal', 'a', 'a7'), up('$id')]],
    bySequence: [
      ['n', '$sequence'],
      ['DESC', 'DESC'],
      [where('equal', 'n', 9), down('$sequence')],
    ],
    mixed: [
      ['$updatedAt', 'n'],
      ['DESC', 'ASC'],
      [where('equal', '$updatedAt', '2026-01-05'), up('n')],
    ],
  } as const;
  const answers = async () =>
    Promise.all(
      Object.values(indexes).map(
        async ([, , queries]) => (await key.get(made.documents + queryString(queries))).expect(200).body,
      ),
    );
  const before = await answers();
  for (const [name, [attributes, orders]] of Object.entries(indexes)) {
    const body = { key: name, type: 'key', attributes, orders };
    const index = (await key.post(made.indexes, body)).expect(202).body;
    assert.deepEqual([index.status, index.attributes], ['available', attributes]);
  }
  await runSql(target, `analyze d_${found?.number}`);
  assert.deepEqual(await answers(), before);
  const store = createDocumentStore(runtime.sql, runtime.config.answerMaxBytes);
  const collection = await features.databases.getCollection(runtime.db, {
    projectId: target.project.id,
    databaseId,
    collectionId: made.id,
  });
  for (const [name, [, , queries]] of Object.entries(indexes)) {
    const texts = queries.map((one) => printJson(one));
    const query = store.matching(collection, parseQueries(texts, collection), 25);
    const explain = databaseUnderTest === 'sqlite' ? 'explain query plan' : 'explain';
    const plan = await runtime.db.all({ ...query, sql: `${explain} ${query.sql}` });
    const text = plan.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n');
    assert.match(text, new RegExp(`INDEX.* i_${found?.number}_\\d+`, 'i'), `${name}: ${text}`);
    const mayBeSorted = name === 'since';
    if (!mayBeSorted) assert.doesNotMatch(text, /TEMP B-TREE|Sort/, `${name}: ${text}`);
  }
});
