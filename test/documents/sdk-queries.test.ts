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

test('queries of the SDK find what they name', async () => {
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
  for (const bad of [Query.equal('none', 1), Query.regex('word', '^a'), Query.equal('n', 'one'), '{', Query.limit(0)])
    await refused(guests.listDocuments({ ...list, queries: [bad] }), 400, 'general_query_invalid');
  await refused(
    guests.listDocuments({ ...list, queries: [Query.cursorAfter('none')] }),
    400,
    'general_cursor_not_found',
  );
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
