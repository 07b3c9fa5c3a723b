// Which index a list lacks, by its shape alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attribute, Collection, Index } from '#src/features/data/databases/index.js';
import { parseQueries } from '#src/features/data/documents/query/parse.js';
import { adviceOf, isCurrent } from '#src/features/data/documents/scans/advice.js';
import { type Shape, shapeOf } from '#src/features/data/documents/scans/shape.js';
import { addIndexCommand, describeShape } from '#src/features/data/documents/scans/text.js';
import { printJson } from '#src/platform/text/json.js';
import { createRandom, seed } from './random.js';

const time = '2026-01-01T00:00:00.000Z';
const attribute = (key: string, number: number, more: Partial<Attribute> = {}): Attribute => ({
  ...{ key, number, type: 'string', size: 40, required: false, array: false, default: null, createdAt: time },
  ...{ updatedAt: time, ...more },
});
const attributes = [
  attribute('author', 1),
  attribute('state', 2),
  attribute('views', 3, { type: 'integer', size: undefined as never }),
  attribute('published', 4, { type: 'datetime', size: undefined as never }),
  attribute('body', 5, { size: 5000 }),
  attribute('tags', 6, { array: true }),
  attribute('half', 7, { size: 500 }),
  attribute('other-half', 8, { size: 500 }),
];

/** An index as `author,views:desc`; `unique:` before it makes it one. */
function index(text: string, number: number): Index {
  const parts = text.replace('unique:', '').split(',');
  return {
    ...{ key: `index-${number}`, number, type: text.startsWith('unique:') ? 'unique' : 'key' },
    attributes: parts.map((part) => part.replace(':desc', '')),
    orders: parts.map((part) => (part.endsWith(':desc') ? 'DESC' : 'ASC')),
    ...{ createdAt: time, updatedAt: time },
  };
}

const collectionWith = (indexes: readonly string[], some: readonly Attribute[] = attributes): Collection => ({
  ...{ projectId: 'shop', databaseId: 'blog', id: 'posts', number: 1, version: 1, name: 'Posts', enabled: true },
  ...{
    documentSecurity: false,
    permissions: [],
    attributes: some,
    indexes: indexes.map(index),
    relations: [],
    layout: 2,
    upgradedTo: null,
    tracked: true,
    lastPart: 99,
  },
  ...{ createdAt: time, updatedAt: time },
});

type Json = Readonly<Record<string, unknown>>;
const is = (method: string, name: string, ...values: unknown[]): Json => ({ method, attribute: name, values });
const equal = (name: string, ...values: unknown[]) => is('equal', name, ...values);
const up = (name: string): Json => ({ method: 'orderAsc', attribute: name });
const down = (name: string): Json => ({ method: 'orderDesc', attribute: name });
const group = (method: 'and' | 'or', ...values: Json[]): Json => ({ method, values });
const shape = (queries: readonly Json[], collection: Collection) =>
  shapeOf(
    parseQueries(
      queries.map((query) => printJson(query)),
      collection,
    ),
  );

/** The columns of the missing index, why there is none, or nothing where the list is served. */
function lacks(queries: readonly Json[], indexes: readonly string[]): string {
  const collection = collectionWith(indexes);
  const advice = adviceOf(shape(queries, collection), collection);
  if (advice === undefined) return '';
  const columns = advice.index?.map(({ key, descending }) => key + (descending ? ':desc' : '')).join(',');
  return [columns, ...advice.notes].filter((part) => part !== undefined).join(' | ');
}

const [ada, open] = [equal('author', 'ada'), equal('state', 'open')];
const noRoom = (key: string) =>
  `An index has no room for ${key}: compare fewer or shorter attributes, or search by a fulltext index.`;

const cases: readonly [queries: readonly Json[], indexes: readonly string[], lacking: string][] = [
  [[], [], ''],
  [[down('$createdAt')], [], ''],
  [[up('$updatedAt'), up('views')], [], ''],
  [[up('$sequence')], [], ''],
  [[equal('$id', 'a', 'b'), is('contains', 'author', 'x')], [], ''],
  [[is('greaterThan', '$createdAt', time)], [], ''],
  [[ada], [], 'author'],
  [[ada], ['author'], ''],
  [[ada], ['author,views:desc'], ''],
  [[ada], ['views,author'], 'author'],
  [[ada], ['tags,author'], ''],
  [[ada, open], ['author'], 'author,state'],
  [[ada, open], ['state,author,views'], ''],
  [[group('and', ada, open), ada], ['state,author'], ''],
  [[ada, open], ['unique:author'], ''],
  [[ada], ['unique:author,state'], ''],
  [[equal('author', 'ada', 'bob')], [], 'author'],
  [[is('isNull', 'author')], ['author'], ''],
  [[ada, down('$createdAt')], [], 'author'],
  [[ada, down('$createdAt')], ['author'], ''],
  [[ada, down('views')], ['author'], 'author,views:desc'],
  [[ada, down('views')], ['author,views'], 'author,views:desc'],
  [[ada, down('views')], ['author,views:desc,state'], ''],
  [[ada, down('views'), up('state')], ['author,views:desc'], 'author,views:desc,state'],
  [[ada, up('author')], ['author'], ''],
  [[down('views')], [], 'views:desc'],
  [[down('views'), up('$id')], ['views:desc'], ''],
  [[is('greaterThan', 'views', 1), is('lessThan', 'views', 9)], [], 'views'],
  [[is('between', 'views', 1, 9)], ['views:desc'], ''],
  [[ada, is('between', 'views', 1, 9)], ['author'], 'author,views'],
  [[ada, is('between', 'views', 1, 9), up('published')], [], 'author,published'],
  [[is('between', 'views', 1, 9), down('$createdAt')], [], 'views'],
  [[ada, is('contains', 'state', 'x')], ['author'], ''],
  [[is('contains', 'author', 'x')], ['author'], 'No index serves contains.'],
  [[is('endsWith', 'author', 'x'), is('notEqual', 'state', 'x')], [], 'No index serves endsWith, notEqual.'],
  [[is('contains', 'tags', 'x')], ['tags'], 'No index serves contains.'],
  [[is('isNull', 'tags')], ['tags'], 'No index serves isNull.'],
  [[equal('body', 'x')], [], noRoom('body')],
  [[up('body')], [], noRoom('body')],
  [[ada, equal('body', 'x')], [], `author | ${noRoom('body')}`],
  [[ada, equal('body', 'x')], ['author'], ''],
  [[equal('half', 'x'), equal('other-half', 'x')], [], `half | ${noRoom('other-half')}`],
  [[ada, up('body'), is('between', 'views', 1, 9)], [], `author,views | ${noRoom('body')}`],
  [[group('or', ada, open)], [], 'author'],
  [[group('or', ada, open)], ['author'], 'state'],
  [[group('or', ada, open)], ['author', 'state'], ''],
  [[group('or', group('and', ada, open), equal('$id', 'x'))], ['author'], 'author,state'],
  [[group('or', ada, is('contains', 'state', 'x'))], [], 'No index serves contains.'],
  [[group('or', ada, open), equal('views', 1)], ['views'], ''],
];

test('a list lacks an index over equal attributes, then its order or a range, unless one begins so', () => {
  for (const [queries, indexes, lacking] of cases)
    assert.equal(lacks(queries, indexes), lacking, JSON.stringify([queries, indexes]));
});

test('a collection that has all indexes it can have says so', () => {
  const advice = lacks(
    [ada],
    Array.from({ length: 64 }, () => 'views'),
  );
  assert.equal(advice, 'author | The collection has 64 indexes, which is the most; remove one first.');
});

test('shapes are alike whatever the values and the order of conditions, and hold no values', () => {
  const collection = collectionWith([]);
  const text = (...queries: Json[]) => JSON.stringify(shape(queries, collection));
  assert.equal(text(ada, open), text(open, equal('author', 'marker'), ada));
  assert.equal(text(group('or', ada, open)), text(group('or', equal('state', 'marker'), ada)));
  assert.equal(text(group('and', ada, open)), text(ada, open));
  assert.notEqual(text(up('views')), text(down('views')));
  const all = text(equal('author', 'marker', 'marker2'), is('between', 'published', '2026-01-01', '2027-01-01'));
  assert.doesNotMatch(all, /marker|202/);
});

test('a shape is described in words, and its command has a key that is free', () => {
  const collection = collectionWith([]);
  const words = (...queries: Json[]) => describeShape(shape(queries, collection), collection);
  assert.equal(words(ada, down('$createdAt')), 'author = … order by $createdAt desc');
  assert.equal(words(up('views'), down('author')), 'all documents order by views, author desc');
  assert.equal(
    words(group('or', group('and', ada, is('isNotNull', 'views')), is('contains', 'state', 'x'))),
    '((author = … and views is not null) or state contains …)',
  );
  const taken = { ...collection, indexes: [{ ...index('state', 1), key: 'by-author' }] };
  assert.equal(
    addIndexCommand(taken, [{ key: 'author', descending: true }]),
    'svc collection add-index posts by-author-2 --project shop --database blog --attributes author:desc',
  );
  const long = Array.from({ length: 16 }, (_, at) => ({ key: `${'a'.repeat(34)}${at}`, descending: false }));
  assert.match(addIndexCommand(collection, long), /add-index posts [a-z0-9-]{36} /);
});

test('a shape is bounded, and one of attributes that are gone is not current', () => {
  const many = Array.from({ length: 200 }, (_, at) => attribute(`a${at}`, at + 1));
  const collection = collectionWith([], many);
  const conditions = many.slice(0, 40).map(({ key }) => equal(key, 'x'));
  const deep = group('or', group('and', ...conditions.slice(0, 20)), ...conditions.slice(20));
  for (const queries of [conditions, [deep], many.slice(0, 99).map(({ key }) => up(key))])
    assert.ok(JSON.stringify(shape(queries, collection)).length < 1000);
  const one = shape([ada], collectionWith([]));
  assert.ok(isCurrent(one, collectionWith([])));
  const renamed = collectionWith([], [attribute('writer', 1)]);
  assert.ok(isCurrent(one, renamed));
  assert.equal(describeShape(one, renamed), 'writer = …');
  assert.ok(!isCurrent(one, collectionWith([], attributes.slice(1))));
  assert.ok(!isCurrent(shape([group('or', ada, open)], collectionWith([])), collectionWith([], attributes.slice(1))));
});

test('following the advice ends: each index that is added serves the list or leads to the next one', () => {
  const random = createRandom(seed);
  const keys = attributes.map(({ key }) => key);
  const term = (depth: number): Json => {
    if (depth > 0 && random.below(4) === 0)
      return group(random.below(2) === 0 ? 'and' : 'or', term(depth - 1), term(depth - 1), term(depth - 1));
    const key = random.pick(keys.filter((name) => !['views', 'published', 'tags'].includes(name)));
    return random.pick([
      equal(key, 'x'),
      equal(key, 'x', 'y'),
      is('isNull', key),
      is('lessThan', key, 'x'),
      is('contains', key, 'x'),
    ]);
  };
  const follow = (given: Shape, collection: Collection): number => {
    const advice = adviceOf(given, collection);
    if (advice === undefined || advice.index === null) return 0;
    const text = advice.index.map(({ key, descending }) => key + (descending ? ':desc' : '')).join(',');
    assert.ok(collection.indexes.length < 40, `${JSON.stringify(given)} ${text}`);
    return 1 + follow(given, { ...collection, indexes: [...collection.indexes, index(text, 1)] });
  };
  let added = 0;
  for (let round = 0; round < 3000; round++) {
    const orders =
      random.below(2) === 0 ? [] : [random.pick([up, down])(random.pick(keys.filter((key) => key !== 'tags')))];
    const collection = collectionWith([]);
    added += follow(
      shape([...Array.from({ length: random.below(4) }, () => term(3)), ...orders], collection),
      collection,
    );
  }
  assert.ok(added > 2000, `${added}`);
});
