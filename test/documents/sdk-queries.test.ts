// The unmodified node-appwrite asks: its queries over REST, and GraphQL in the form it sends it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Permission, Query, Role } from 'node-appwrite';
import { startAppliance } from '../harness/appliance.js';
import { refused, sdkCallers } from './sdk.js';

const { server, guests, graphql } = await sdkCallers(await startAppliance());
const largest = 2n ** 63n - 1n;
const list = { databaseId: 'blog', collectionId: 'numbers' };
await server.create({ databaseId: 'blog', name: 'Blog' });

test('queries of the SDK find the named documents', async () => {
  await server.createCollection({ ...list, name: 'Numbers', permissions: [Permission.read(Role.any())] });
  await server.createIntegerAttribute({ ...list, key: 'n', required: false });
  await server.createStringAttribute({ ...list, key: 'word', required: false, size: 20 });
  await server.createStringAttribute({ ...list, key: 'marks', required: false, size: 20, array: true });
  const words = [null, 'alpha', 'beta', 'Alphabet', 'gamma 100%', 'delta'];
  for (const [at, word] of words.entries()) {
    const data = { n: at === 5 ? largest : at, word, marks: at % 2 === 0 ? ['even'] : ['odd', `m${at}`] };
    await server.createDocument({ ...list, documentId: `d${at}`, data });
  }
  const found = async (...queries: string[]) =>
    (await guests.listDocuments({ ...list, queries })).documents.map(({ $id }) => $id.slice(1)).join('');
  const cases: [string, string, ...string[]][] = [
    ['equal', '4', Query.equal('n', 4)],
    ['equal of many', '14', Query.equal('n', [1, 4])],
    ['equal of 64 bits', '5', Query.equal('n', largest)],
    ['notEqual', '01234', Query.notEqual('n', largest)],
    ['comparisons', '23', Query.greaterThan('n', 1), Query.lessThanEqual('n', 3)],
    ['comparisons of 64 bits', '5', Query.greaterThan('n', largest - 1n)],
    ['between', '123', Query.between('n', 1, 3)],
    ['notBetween', '045', Query.notBetween('n', 1, 3)],
    ['notBetween, null', '345', Query.notBetween('word', 'alpha', 'beta')],
    ['notContains, null', '24', Query.notContains('word', ['lph', 'lt'])],
    ['notContains in a list', '0245', Query.notContains('marks', ['m1', 'm3'])],
    ['notStartsWith, null', '245', Query.notStartsWith('word', 'alpha')],
    ['notEndsWith, null', '1235', Query.notEndsWith('word', '100%')],
    ['containsAny', '13', Query.containsAny('marks', ['m1', 'm3'])],
    ['containsAny in a text', '135', Query.containsAny('word', ['lph', 'lt'])],
    ['containsAll', '1', Query.containsAll('marks', ['m1', 'odd', 'odd'])],
    ['containsAll in a text', '3', Query.containsAll('word', ['alph', 'BET'])],
    ['exists', '12345', Query.exists(['word', 'n'])],
    ['notExists', '0', Query.notExists(['word'])],
    ['negated within or', '045', Query.or([Query.isNull('word'), Query.notBetween('n', 0, 3)])],
    ['isNull', '0', Query.isNull('word')],
    ['isNotNull', '12345', Query.isNotNull('word')],
    ['startsWith', '13', Query.startsWith('word', 'alpha')],
    ['endsWith', '4', Query.endsWith('word', '100%')],
    ['contains', '1345', Query.contains('word', ['lph', 'l', '%'])],
    ['contains in a list', '13', Query.contains('marks', ['m1', 'm3'])],
    ['or', '04', Query.or([Query.isNull('word'), Query.equal('n', 4)])],
    ['and', '3', Query.and([Query.startsWith('word', 'a'), Query.greaterThan('n', 1)])],
    ['order and limit', '54', Query.orderDesc('n'), Query.limit(2)],
    ['nulls first', '031', Query.orderAsc('word'), Query.limit(3)],
    ['offset', '45', Query.orderAsc('n'), Query.offset(4)],
    ['cursorAfter', '2', Query.orderAsc('n'), Query.cursorAfter('d1'), Query.limit(1)],
    ['cursorBefore', '34', Query.orderAsc('n'), Query.cursorBefore('d5'), Query.limit(2)],
    ['createdBefore', '', Query.createdBefore('2000-01-01')],
  ];
  for (const [name, ids, ...queries] of cases) assert.equal(await found(...queries), ids, name);

  const page = await guests.listDocuments({ ...list, queries: [Query.limit(1), Query.select(['word'])] });
  assert.equal(page.total, 6);
  assert.deepEqual(
    Object.keys(page.documents[0] ?? {}).filter((name) => !name.startsWith('$')),
    ['word'],
  );
  assert.equal((await guests.listDocuments({ ...list, total: false })).total, 0);
  const selected = await guests.getDocument({ ...list, documentId: 'd5', queries: [Query.select(['n'])] });
  assert.deepEqual([selected.n, selected.word], [largest, undefined]);
  for (const bad of [Query.equal('none', 1), Query.exists(['none']), Query.equal('n', 'one'), '{', Query.limit(0)])
    await refused(guests.listDocuments({ ...list, queries: [bad] }), 400, 'general_query_invalid');
  for (const [reason, ...queries] of [
    [/no regular expressions/, Query.regex('word', '^a')],
    [/arrays hold no objects/, Query.elemMatch('marks', [Query.equal('a', 1), Query.equal('b', 2)])],
    [/random order has no cursor/, Query.orderRandom(), Query.cursorAfter('d1')],
    [/text and arrays only/, Query.notContains('n', '1')],
  ] as const)
    await assert.rejects(guests.listDocuments({ ...list, queries: [...queries] }), reason);
  const shuffles = await Promise.all(
    Array.from({ length: 12 }, () => found(Query.orderRandom(), Query.notEqual('n', 4), Query.limit(5))),
  );
  assert.deepEqual(new Set(shuffles.map((ids) => [...ids].sort().join(''))), new Set(['01235']));
  assert.ok(new Set(shuffles).size > 1, 'twelve random orders are not all the same');
  assert.match(await found(Query.orderDesc('n'), Query.orderRandom()), /^543210$/);
  await refused(
    guests.listDocuments({ ...list, queries: [Query.cursorAfter('none')] }),
    400,
    'general_cursor_not_found',
  );
});

test('queries in the form of SDKs before 2024 find the named documents, unless their meaning is not certain', async () => {
  const found = async (...queries: string[]) =>
    (await guests.listDocuments({ ...list, queries })).documents.map(({ $id }) => $id.slice(1)).join('');
  const cases: [string, string, ...string[]][] = [
    ['equal', '4', 'equal("n", [4])'],
    ['equal of many', '14', 'equal("word", ["alpha","gamma 100%"])'],
    ['equal of 64 bits', '5', `equal("n", [${largest}])`],
    ['notEqual', '01234', `notEqual("n", [${largest}])`],
    ['comparisons', '23', 'greaterThan("n", [1])', 'lessThanEqual("n", [3])'],
    ['between', '123', 'between("n", 1, 3)'],
    ['isNull', '0', 'isNull("word")'],
    ['isNotNull', '12345', 'isNotNull("word")'],
    ['startsWith', '13', 'startsWith("word", ["alpha"])'],
    ['text with a line break', '', 'equal("word", ["a\nb"])'],
    ['text that looks like a query', '', 'equal("word", ["equal(1)"])'],
    ['order, limit and offset', '43', 'orderDesc("n")', 'limit(2)', 'offset(1)'],
    ['cursorAfter', '2', 'orderAsc("n")', 'cursorAfter("d1")', 'limit(1)'],
    ['cursorBefore', '34', 'orderAsc("n")', 'cursorBefore("d5")', 'limit(2)'],
    ['both forms', '4', 'equal("n", [4])', Query.limit(1)],
  ];
  for (const [name, ids, ...queries] of cases) assert.equal(await found(...queries), ids, name);
  const selected = await guests.getDocument({ ...list, documentId: 'd4', queries: ['select(["n"])'] });
  assert.deepEqual([selected.n, selected.word], [4, undefined]);
  assert.equal((await server.list({ queries: ['equal("name", ["Blog"])', 'limit(1)'] })).total, 1);
  for (const bad of [
    'equal("word", ["a\\b"])',
    'equal("word", ["a"b"])',
    'equal(word, ["a"])',
    'equal("n", [undefined])',
  ])
    await refused(guests.listDocuments({ ...list, queries: [bad] }), 400, 'general_query_invalid');
  for (const bad of [
    'limit(0)',
    'limit("1")',
    'equal("n")',
    'none("n", [1])',
    'equal',
    'equal()',
    ' limit(1)',
    'limit(1',
  ])
    await refused(guests.listDocuments({ ...list, queries: [bad] }), 400, 'general_query_invalid');
});

test('the SDK speaks GraphQL, one request or a batch', async () => {
  const variables = { data: { word: 'By GraphQL', n: largest } };
  const mutation =
    'mutation ($data: JSON!) { documentCreate(databaseId: "blog", collectionId: "numbers", documentId: "g", data: $data) { id data } }';
  const made = (await graphql.server.mutation({ query: { query: mutation, variables } })) as unknown as Answer;
  assert.deepEqual([made.data.documentCreate?.id, made.data.documentCreate?.data.n], ['g', largest]);
  const query = '{ documentGet(databaseId: "blog", collectionId: "numbers", documentId: "g") { id data } }';
  const single = (await graphql.server.query({ query: { query } })) as unknown as Answer;
  assert.equal(single.data.documentGet?.data.n, largest);
  const batch = (await graphql.server.query({ query: [{ query }, { query }] as never })) as unknown as Answer[];
  assert.deepEqual(batch, [single, single]);
  const refusal = (await graphql.guests.mutation({
    query: {
      query: 'mutation { documentDelete(databaseId: "blog", collectionId: "numbers", documentId: "g") { id } }',
    },
  })) as unknown as Answer;
  assert.equal(refusal.data.documentDelete, null);
  assert.deepEqual({ ...refusal.errors?.[0]?.extensions }, { code: 401, type: 'user_unauthorized' });
});

type Answer = {
  readonly data: Readonly<Record<string, { id: string; data: Record<string, unknown> } | null | undefined>>;
  readonly errors?: { readonly extensions: object }[];
};
