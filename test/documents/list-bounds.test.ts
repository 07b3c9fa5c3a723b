// What one list may ask in all, and value lists as one bound value: the same answers as value by value, and indexes that are used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDocumentCompiler } from '#src/features/data/documents/query/compile.js';
import type { Field } from '#src/features/data/documents/query/parse.js';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { graphql } from './graphql.js';
import { aBackend, queryString, type TestCollection } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const collection = await aCollection({
  attributes: {
    text: { type: 'string', size: 60 },
    ratio: { type: 'float' },
    whole: { type: 'integer' },
    flag: { type: 'boolean' },
    ratios: { type: 'float', array: true },
  },
});

(await key.post(collection.indexes, { key: 'words', type: 'fulltext', attributes: ['text'] })).expect(202);

const equal = (count: number) => ({
  method: 'equal',
  attribute: 'text',
  values: Array.from({ length: count }, (_, at) => `v${at}`),
});
const digits = { method: 'equal', attribute: 'whole', values: Array(500).fill(1) };
const search = { method: 'search', attribute: 'text', values: ['word'] };
const isNull = { method: 'isNull', attribute: 'text' };
const both = (method: string, values: readonly unknown[]) => ({ method, values });
const over: Readonly<Record<string, readonly unknown[]>> = {
  'values of one query': [equal(501)],
  'values of several': [equal(250), equal(251)],
  'values within or': [equal(250), both('or', [equal(200), both('and', [equal(51), isNull])])],
  queries: Array.from({ length: 101 }, () => isNull),
  'queries within or': [
    ...Array.from({ length: 50 }, () => isNull),
    both(
      'or',
      Array.from({ length: 51 }, () => isNull),
    ),
  ],
  'searches within and and or': [
    both(
      'and',
      Array.from({ length: 5 }, () => search),
    ),
    both('or', [search, ...Array.from({ length: 5 }, () => ({ ...search, method: 'notSearch' }))]),
  ],
  '4 x 500 values': Array.from({ length: 4 }, () => digits),
};

const listText = `query ($d: String!, $c: String!, $q: [String!]) { documentList(databaseId: $d, collectionId: $c, queries: $q) { total } }`;
const variables = (queries: readonly unknown[]) => ({
  d: collection.databaseId,
  c: collection.id,
  q: queries.map((query) => JSON.stringify(query)),
});

for (const [name, queries] of Object.entries(over)) {
  test(`too many ${name} are refused, by REST and by GraphQL`, async () => {
    (await key.get(collection.documents + queryString(queries))).refused(400, 'general_query_limit_exceeded');
    const { errors } = await graphql(key, listText, variables(queries));
    assert.deepEqual(
      errors.map(({ code, type }) => [code, type]),
      [[400, 'general_query_limit_exceeded']],
    );
  });
}

test('66 x 500 values are refused by GraphQL', async () => {
  const { errors } = await graphql(key, listText, variables(Array.from({ length: 66 }, () => digits)));
  assert.deepEqual(
    errors.map(({ type }) => type),
    ['general_query_limit_exceeded'],
  );
});

test('as many as a list takes are answered, and the page is not counted', async () => {
  const page = [
    { method: 'limit', values: [1] },
    { method: 'offset', values: [0] },
  ];
  (await key.get(collection.documents + queryString([digits, ...page]))).expect(200);
  (await key.get(collection.documents + queryString(Array.from({ length: 100 }, () => isNull)))).expect(200);
});

test('lists of our own rows have the same bounds', async () => {
  const contains = (count: number) => ({ method: 'contains', attribute: 'name', values: Array(count).fill('a') });
  for (const path of ['/users', '/teams']) {
    (await key.get(path + queryString([contains(250), contains(251)]))).refused(400, 'general_query_limit_exceeded');
    (await key.get(path + queryString([contains(500)]))).expect(200);
  }
});

test('words and values of our own rows are found, null columns too', async () => {
  const people = { 'l-a': ['Ada Müller', true], 'l-b': ['bob 100% \\o/', true], 'l-c': ['Carl !x_', false] } as const;
  for (const [userId, [name, status]] of Object.entries(people)) {
    (await key.post('/users', { userId, name, email: `${userId}@mail.example` })).expect(201);
    if (!status) (await key.patch(`/users/${userId}/status`, { status })).expect(200);
  }
  const found = async (queries: readonly unknown[], more: Record<string, string> = {}) =>
    (await key.get(`/users${queryString(queries, more)}`))
      .expect(200)
      .list('users')
      .map(({ $id }) => $id)
      .sort();
  assert.deepEqual(await found([], { search: 'ADA mÜLLER' }), ['l-a']);
  assert.deepEqual(await found([], { search: 'mail.example l-' }), ['l-a', 'l-b', 'l-c']);
  assert.deepEqual(await found([{ method: 'search', attribute: 'phone', values: ['a b'] }]), []);
  assert.deepEqual(await found([{ method: 'search', attribute: 'name', values: ['100% BOB'] }]), ['l-b']);
  assert.deepEqual(await found([{ method: 'contains', attribute: 'name', values: ['\\O/', '!X_', '_'] }]), [
    'l-b',
    'l-c',
  ]);
  assert.deepEqual(await found([{ method: 'equal', attribute: '$id', values: ['l-a', 'l-c', 'no'] }]), ['l-a', 'l-c']);
  assert.deepEqual(await found([{ method: 'equal', attribute: 'status', values: [false, false] }]), ['l-c']);
});

test('every value of a list is found as if it were alone', async () => {
  const ratios = [
    0.1, 411448.723674932, -32996193679582412, 3.832849840834394e-149, -2.814887513421068e129, 5e-324,
    1.7976931348623157e308, 0, -1.5,
  ];
  const texts = ['plain', 'a"b', "it's", 'back\\slash', '100%', 'under_score', 'bang!', '{x,y}', 'ü', 'NULL', ''];
  const wholes = ['9007199254740993', '-9223372036854775808', '9223372036854775807', '0'];
  const create = async (documentId: string, data: string) =>
    (await key.post(collection.documents, `{"documentId":"${documentId}","data":${data}}`)).expect(201);
  for (const [at, ratio] of ratios.entries()) await create(`r${at}`, `{"ratio":${ratio},"ratios":[${ratio},7]}`);
  for (const [at, text] of texts.entries()) await create(`t${at}`, JSON.stringify({ text }));
  for (const [at, whole] of wholes.entries()) await create(`w${at}`, `{"whole":${whole}}`);
  for (const flag of [true, false]) await create(`f-${flag}`, JSON.stringify({ flag }));
  const found = async (query: string) =>
    (
      await key.get(
        `${collection.documents}?queries[0]=${encodeURIComponent(query)}&queries[1]=${encodeURIComponent('{"method":"limit","values":[100]}')}`,
      )
    )
      .expect(200)
      .list('documents')
      .map(({ $id }) => String($id));
  const ask = (method: string, attribute: string, values: readonly string[]) =>
    found(`{"method":"${method}","attribute":"${attribute}","values":[${values.join()}]}`);
  const all = (prefix: string, values: readonly unknown[]) => values.map((_, at) => `${prefix}${at}`);
  const json = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value));
  assert.deepEqual(await ask('equal', 'ratio', json(ratios)), all('r', ratios));
  for (const [at, ratio] of ratios.entries()) {
    assert.deepEqual(await ask('equal', 'ratio', json([ratio, 12345.678])), [`r${at}`], String(ratio));
    // An array keeps its numbers as text, which SQLite does not read as exactly.
    if ([0.1, 0, -1.5].includes(ratio)) assert.deepEqual(await ask('contains', 'ratios', json([ratio, 8])), [`r${at}`]);
  }
  assert.deepEqual(await ask('equal', 'text', json(texts)), all('t', texts));
  for (const [at, text] of texts.entries()) {
    assert.deepEqual(await ask('equal', 'text', json([text, 'other'])), [`t${at}`], text);
    if (text !== '') assert.deepEqual(await ask('contains', 'text', json([text, 'no such'])), [`t${at}`], text);
  }
  assert.deepEqual(await ask('contains', 'text', json(['%', '_', '!', '\\'])), ['t3', 't4', 't5', 't6']);
  assert.deepEqual(await ask('equal', 'whole', wholes), all('w', wholes));
  assert.deepEqual(await ask('equal', 'whole', [wholes[0] ?? '', '1']), ['w0']);
  assert.deepEqual(await ask('equal', 'flag', ['true', 'false']), ['f-true', 'f-false']);
  assert.deepEqual(await ask('equal', 'flag', ['true', 'true']), ['f-true']);
});

test('an index serves a list of values as it serves one, in a text that does not vary with their number', async () => {
  const indexed = await aCollection({
    attributes: { text: { type: 'string', size: 20 }, whole: { type: 'integer' }, ratio: { type: 'float' } },
  });
  for (const name of ['text', 'whole', 'ratio'])
    (await key.post(indexed.indexes, { key: `by_${name}`, type: 'key', attributes: [name] })).expect(202);
  const number = await numberOf(indexed);
  const { sql } = target.appliance.runtime;
  const numbers =
    sql.dialect === 'sqlite'
      ? '(with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000) select i from n) as n'
      : 'generate_series(1, 20000) as n (i)';
  const columns = ['text', 'whole', 'ratio'].map((_, at) => attributeColumn(at + 1)).join(', ');
  await runSql(
    target,
    `insert into d_${number} (id, created_at, updated_at, permissions, printed, shape, ${columns}) select 'i' || i, '', '', '[]', '', '', 'v' || i, i, i from ${numbers}`,
  );
  await runSql(target, `analyze d_${number}`);
  const compile = createDocumentCompiler(sql);
  const types = { text: 'string', whole: 'integer', ratio: 'double' } as const;
  for (const [at, [name, type]] of Object.entries(types).entries()) {
    const field = { kind: 'attribute', attribute: { number: at + 1, key: name, type } } as unknown as Field;
    const texts = [2, 5, 20].map((count) => {
      const values = Array.from({ length: count }, (_, value) => (name === 'text' ? `v${value}` : value));
      return compile({ kind: 'compare', method: 'equal', field, values });
    });
    assert.equal(new Set(texts.map((one) => one.sql)).size, 1);
    for (const { sql: condition, values } of texts) {
      const explain = sql.dialect === 'sqlite' ? 'explain query plan' : 'explain';
      const plan = await runSql(target, `${explain} select seq from d_${number} where ${condition}`, [...values]);
      assert.match(
        JSON.stringify(plan),
        sql.dialect === 'sqlite' ? /USING (COVERING )?INDEX/ : /Index (Only )?(Scan|Cond)/,
        name,
      );
    }
  }
});

async function numberOf({ id }: TestCollection): Promise<number> {
  const [row] = await runSql(target, 'select number from collections where id = ?', [id]);
  return Number(row?.number);
}
