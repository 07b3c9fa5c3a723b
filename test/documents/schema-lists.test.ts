// Lists of databases, collections, attributes, indexes and webhooks take the queries that other lists take.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Databases, Query } from 'node-appwrite';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';

const target = await startAppliance();
const key = await aServerKey(target);
const { client } = key;
const collection = '/databases/b/collections/m';

const make = async (path: string, ...bodies: object[]) => {
  for (const body of bodies) {
    const answer = await client.post(path, body);
    assert.ok(answer.status < 300, answer.text);
    target.clock.advance(1000);
  }
};
await make(
  '/databases',
  ...[
    { databaseId: 'b', name: 'Zebra' },
    { databaseId: 'a', name: 'apple', enabled: false },
    { databaseId: 'c', name: 'Mango 50%' },
  ],
);
await make(
  '/databases/b/collections',
  ...[
    { collectionId: 'm', name: 'Zebra', documentSecurity: true },
    { collectionId: 'l', name: 'apple', enabled: false },
  ],
  { collectionId: 'n', name: 'Mango 50%', permissions: ['read("any")'] },
);
await make('/databases/c/collections', { collectionId: 'elsewhere', name: 'Elsewhere' });
await make(`${collection}/attributes/string`, { key: 'title', size: 100, required: true });
await make(`${collection}/attributes/integer`, { key: 'count', required: false, array: true });
await make(`${collection}/attributes/email`, { key: 'mail', required: false });
await make(`${collection}/attributes/string`, { key: 'body', size: 9000, required: false });
await make(
  `${collection}/indexes`,
  ...[
    { key: 'z', type: 'key', attributes: ['title'] },
    { key: 'a', type: 'unique', attributes: ['title', 'mail'] },
  ],
  { key: 'm', type: 'key', attributes: ['mail'] },
);
const hook = { url: 'https://hooks.example.com/', events: ['documentCreated'] };
await make(
  '/webhooks',
  ...[
    { ...hook, webhookId: 'y', name: 'Zebra' },
    { ...hook, webhookId: 'x', name: 'apple', enabled: false, events: ['*'] },
  ],
  { ...hook, webhookId: 'z', name: 'Mango 50%', url: 'https://other.example.com/' },
);

const by = (method: string, attribute: string, ...values: unknown[]) => ({ method, attribute, values });
const page = (method: string, ...values: unknown[]) => ({ method, values });
const query = (queries: readonly unknown[]) =>
  queries.map((one) => `queries[]=${encodeURIComponent(JSON.stringify(one))}`).join('&');

type Case = readonly [queries: readonly unknown[], ids: readonly string[]];
/** Name, path, member, all ids in their order, cases. */
const lists: [string, string, string, string[], Case[]][] = [
  [
    'databases',
    '/databases',
    'databases',
    ['b', 'a', 'c'],
    [
      [[by('equal', 'name', 'apple', 'Zebra')], ['b', 'a']],
      [[by('equal', 'enabled', false)], ['a']],
      [[by('contains', 'name', '50%')], ['c']],
      [[by('orderAsc', 'name')], ['c', 'b', 'a']],
      [[by('startsWith', 'name', 'zEb')], ['b']],
    ],
  ],
  [
    'collections',
    '/databases/b/collections',
    'collections',
    ['m', 'l', 'n'],
    [
      [[by('equal', 'documentSecurity', true)], ['m']],
      [[by('equal', 'enabled', true), by('notEqual', 'name', 'Zebra')], ['n']],
      [[by('contains', '$permissions', 'read("any")')], ['n']],
      [[by('search', 'name', 'ZEB')], ['m']],
    ],
  ],
  [
    'attributes',
    `${collection}/attributes`,
    'attributes',
    ['title', 'count', 'mail', 'body'],
    [
      [[by('equal', 'key', 'mail')], ['mail']],
      [[by('equal', 'type', 'string')], ['title', 'mail', 'body']],
      [[by('equal', 'format', 'email')], ['mail']],
      [[by('isNull', 'format', undefined)], ['title', 'count', 'body']],
      [[by('equal', 'required', true)], ['title']],
      [[by('equal', 'array', true)], ['count']],
      [[by('greaterThan', 'size', 100)], ['body']],
      [[by('between', 'size', 1, 100)], ['title']],
      [
        [by('equal', 'status', 'available'), by('orderDesc', 'size')],
        ['body', 'title', 'count', 'mail'],
      ],
      [[{ method: 'or', values: [by('equal', 'key', 'body'), by('equal', 'array', true)] }], ['count', 'body']],
    ],
  ],
  [
    'indexes',
    `${collection}/indexes`,
    'indexes',
    ['z', 'a', 'm'],
    [
      [[by('equal', 'type', 'unique')], ['a']],
      [[by('contains', 'attributes', 'mail')], ['a', 'm']],
      [[by('orderAsc', 'key')], ['a', 'm', 'z']],
    ],
  ],
  [
    'webhooks',
    '/webhooks',
    'webhooks',
    ['y', 'x', 'z'],
    [
      [[by('equal', 'enabled', false)], ['x']],
      [[by('contains', 'events', '*')], ['x']],
      [[by('endsWith', 'url', 'other.example.com/')], ['z']],
      [
        [by('equal', 'attempts', 0), by('orderDesc', 'name')],
        ['x', 'y', 'z'],
      ],
    ],
  ],
];
for (const [name, path, member, ids, cases] of lists) {
  const read = async (queries: readonly unknown[], more = '') => {
    const answer = (await client.get(`${path}?${query(queries)}${more}`)).expect(200);
    return { ids: answer.list(member).map((one) => String(one.$id ?? one.key)), total: answer.body.total };
  };
  test(`${name}: all of them, in the order they were made`, async () => {
    assert.deepEqual(await read([]), { ids, total: ids.length });
    assert.deepEqual(await read([], '&total=false'), { ids, total: 0 });
  });
  for (const [queries, expected] of cases) {
    test(`${name}: ${JSON.stringify(queries)}`, async () => {
      assert.deepEqual(await read(queries), { ids: expected, total: expected.length });
      // The total is of all pages, and pages put together are the list.
      const paged: string[] = [];
      for (let at = 0; at < expected.length; at++) {
        const one = await read([...queries, page('limit', 1), page('offset', at)]);
        assert.equal(one.total, expected.length);
        paged.push(...one.ids);
      }
      assert.deepEqual(paged, expected);
    });
  }
  test(`${name}: pages, cursors and orders`, async () => {
    assert.deepEqual((await read([page('limit', 1)])).ids, ids.slice(0, 1));
    assert.deepEqual((await read([page('limit', 2), page('offset', 1)])).ids, ids.slice(1, 3));
    assert.deepEqual((await read([by('orderDesc', '$createdAt')])).ids, ids.toReversed());
    assert.deepEqual((await read([by('orderAsc', '$id')])).ids, ids.toSorted());
    assert.deepEqual((await read([page('cursorAfter', ids[0])])).ids, ids.slice(1));
    assert.deepEqual((await read([page('cursorBefore', ids[1])])).ids, ids.slice(0, 1));
    const walked: string[] = [];
    for (let last: string | undefined; walked.length < ids.length; last = walked.at(-1))
      walked.push(
        ...(
          await read([
            by('orderDesc', '$id'),
            page('limit', 1),
            ...(last === undefined ? [] : [page('cursorAfter', last)]),
          ])
        ).ids,
      );
    assert.deepEqual(walked, ids.toSorted().toReversed());
  });
  test(`${name}: wrong queries are refused`, async () => {
    const wrong: unknown[][] = [
      [by('equal', 'nothing', 'x')],
      [by('equal', '$createdAt', 'yesterday')],
      [by('orderAsc', 'constructor')],
      [page('limit', 5001)],
      [page('limit', -1)],
      [page('unknown')],
      [by('equal', '$id', 1)],
      [by('equal', '$id', 'a\u0000')],
      [by('equal', '$id', "' or 1=1 --", 5)],
    ];
    for (const queries of wrong)
      (await client.get(`${path}?${query(queries)}`)).refused(400, 'general_argument_invalid');
    (await client.get(`${path}?queries[]=nonsense`)).refused(400, 'general_argument_invalid');
    (await client.get(`${path}?${query([page('cursorAfter', 'none')])}`)).refused(400, 'general_cursor_not_found');
    assert.deepEqual(await read([by('equal', '$id', "' or 1=1 --")]), { ids: [], total: 0 });
  });
}

test('databases and collections can be searched', async () => {
  const found = async (path: string, member: string, word: string) =>
    (await client.get(`${path}?search=${encodeURIComponent(word)}`))
      .expect(200)
      .list(member)
      .map(({ $id }) => $id);
  assert.deepEqual(await found('/databases', 'databases', 'zEBRA'), ['b']);
  assert.deepEqual(await found('/databases/b/collections', 'collections', '50%'), ['n']);
});

test('a list of nothing is empty, whatever is asked', async () => {
  const empty = '/databases/b/collections/l';
  for (const [path, member] of [
    ['attributes', 'attributes'],
    ['indexes', 'indexes'],
  ] as const) {
    const answer = (await client.get(`${empty}/${path}?${query([by('equal', 'key', 'x')])}`)).expect(200);
    assert.deepEqual(answer.body, { total: 0, [member]: [] });
  }
  (await client.get('/databases/none/collections')).refused(404, 'database_not_found');
  (await client.get('/databases/b/collections/none/attributes')).refused(404, 'collection_not_found');
});

test('more attributes than a page has by default', async () => {
  const many = '/databases/c/collections/elsewhere';
  for (let at = 0; at < 27; at++)
    (await client.post(`${many}/attributes/boolean`, { key: `k${at}`, required: false })).expect(202);
  const keys = async (more: string) =>
    (await client.get(`${many}/attributes?${more}`))
      .expect(200)
      .list('attributes')
      .map((one) => one.key);
  const all = Array.from({ length: 27 }, (_, at) => `k${at}`);
  assert.deepEqual(await keys(''), all.slice(0, 25));
  assert.deepEqual(await keys(query([page('limit', 5000)])), all);
  assert.deepEqual(await keys(query([page('cursorAfter', 'k24')])), ['k25', 'k26']);
});

test('the SDK sends the same', async () => {
  const sdk = new Databases(new Client().setEndpoint(`${target.origin}/v1`).setProject('main').setKey(key.secret));
  const { total, databases } = await sdk.list({
    queries: [Query.equal('name', ['apple', 'Zebra']), Query.orderAsc('name')],
    search: 'e',
  });
  assert.deepEqual([total, databases.map(({ $id }) => $id)], [2, ['b', 'a']]);
  const of = { databaseId: 'b', collectionId: 'm' };
  const attributes = await sdk.listAttributes({ ...of, queries: [Query.equal('type', 'string'), Query.limit(1)] });
  assert.deepEqual([attributes.total, attributes.attributes.length], [3, 1]);
  assert.equal((await sdk.listIndexes({ ...of, queries: [Query.cursorAfter('z')] })).indexes.length, 2);
  assert.equal((await sdk.listCollections({ databaseId: 'b', queries: [Query.equal('enabled', false)] })).total, 1);
});

test('a list that stands once is a list of one, for every operation that takes queries, and OpenAPI says so', async () => {
  type Parameter = { name: string; style?: string; explode?: boolean; schema: { type?: string } };
  const { paths } = (await client.get('/openapi.json')).expect(200).body as {
    paths: Record<string, Record<string, { operationId: string; parameters?: Parameter[] }>>;
  };
  const once = `queries=${encodeURIComponent(JSON.stringify(page('limit', 1)))}`;
  let seen = 0;
  for (const [path, methods] of Object.entries(paths)) {
    const queries = methods.get?.parameters?.find((one) => one.name === 'queries');
    if (queries === undefined) continue;
    seen += 1;
    assert.deepEqual([queries.style, queries.explode, queries.schema.type], ['form', true, 'array'], path);
    const real = path
      .replace('{databaseId}', 'b')
      .replace('{collectionId}', 'm')
      .replace('{webhookId}', 'x')
      .replace(/\{\w+\}/g, 'none');
    const answer = await client.get(`${real}?${once}`);
    assert.doesNotMatch(answer.text, /expected array|queries/, `${path} ${answer.text}`);
  }
  assert.ok(seen >= 10, String(seen));
  const one = (await client.get(`/databases?${once}`)).expect(200);
  assert.deepEqual([one.list('databases').length, one.body.total], [1, 3]);
  (await client.get('/databases?queries=nonsense')).refused(400, 'general_argument_invalid');
  assert.equal((await client.get(`/databases?${once}&${once}`)).expect(200).list('databases').length, 1);
});
