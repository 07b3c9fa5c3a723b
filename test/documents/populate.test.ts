// Reads of documents with those that they are related to: by `populate`, by selections and by GraphQL, for every kind of caller.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reads } from '#src/platform/db/unit.js';
import { aLoggedInUser } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { aBackend, queryString, type TestCollection } from './setup.js';

const target = await startAppliance({ settings: { SVC_ANSWER_MAX_BYTES: '1048576', SVC_RATE_LIMIT: 'off' } });
const backend = await aBackend(target);
const { key } = backend;
const text = { type: 'string', size: 2_000_000 };
const [guest, ada] = [createClient(target), await aLoggedInUser(target)];
const everybody = { permissions: ['read("any")'], attributes: { name: text } };
const authors = await backend.collection(everybody);
const books = await backend.collection(everybody);
const notes = await backend.collection({ ...everybody, permissions: [], documentSecurity: true });
const relate = async (from: TestCollection, to: TestCollection, body: object) =>
  (await key.post(`${from.attributes}/relationship`, { relatedCollectionId: to.id, twoWay: true, ...body })).expect(
    202,
  );
await relate(authors, books, { type: 'oneToMany', key: 'books', twoWayKey: 'author' });
await relate(books, notes, { type: 'manyToMany', key: 'notes', twoWayKey: 'books' });
const create = async (of: TestCollection, documentId: string, data: object, permissions?: readonly string[]) =>
  (await key.post(of.documents, { documentId, data, ...(permissions && { permissions }) })).expect(201);
await create(authors, 'ann', { name: 'Ann' });
await create(authors, 'bob', { name: 'Bob' });
await create(notes, 'open', { name: 'Open' }, ['read("any")']);
await create(notes, 'adas', { name: 'Adas' }, [`read("user:${ada.id}")`]);
await create(notes, 'secret', { name: 'Secret' });
await create(books, 'one', { name: 'One', author: 'ann', notes: ['open', 'adas', 'secret'] });
await create(books, 'two', { name: 'Two', author: 'ann', notes: ['secret'] });
await create(books, 'three', { name: 'Three' });

type Json = Record<string, unknown>;
const select = (...values: string[]) => queryString([{ method: 'select', values }]);
const populate = (...paths: string[]) => `?${paths.map((path, at) => `populate[${at}]=${path}`).join('&')}`;
const read = async (client: Client, of: TestCollection, rest: string): Promise<Json> =>
  (await client.get(`${of.documents}${rest}`)).expect(200).body;
const ids = (value: unknown) => (value as Json[]).map(({ $id }) => $id);

test('without being asked, a document shows the id of one and nothing of many', async () => {
  const book = await read(guest, books, '/one');
  assert.deepEqual([book.author, 'notes' in book], ['ann', false]);
  assert.ok(!('books' in (await read(guest, authors, '/ann'))));
});

test('populate and selections return related documents, three levels deep', async () => {
  const ann = await read(key, authors, `/ann${populate('books.notes')}`);
  assert.deepEqual([ann.name, ids(ann.books)], ['Ann', ['one', 'two']]);
  const [one] = ann.books as Json[];
  assert.deepEqual([one?.name, one?.author, ids(one?.notes)], ['One', 'ann', ['open', 'adas', 'secret']]);

  const some = await read(key, books, `/one${select('name', 'author.name')}`);
  assert.deepEqual(
    Object.keys(some).filter((name) => !name.startsWith('$')),
    ['name', 'author'],
  );
  assert.deepEqual([(some.author as Json).name, (some.author as Json).$id], ['Ann', 'ann']);
  const all = await read(key, books, `/one${select('*', 'author.books.name', 'notes.*')}`);
  assert.deepEqual([all.name, ids(all.notes).length], ['One', 3]);
  const author = all.author as Json;
  assert.deepEqual([author.name, (author.books as Json[]).map(({ name }) => name)], [undefined, ['One', 'Two']]);
  const plain = await read(key, authors, `/ann${select('books', '$id')}`);
  assert.deepEqual([plain.name, ids(plain.books)], [undefined, ['one', 'two']]);

  const listed = await read(key, books, populate('author'));
  const found = (listed.documents as Json[]).map(({ author: by }) => (by as Json | null)?.$id ?? null);
  assert.deepEqual([listed.total, found], [3, ['ann', 'ann', null]]);
  const filtered = await read(key, books, queryString([{ method: 'equal', attribute: 'author', values: ['ann'] }]));
  assert.equal(filtered.total, 2);
});

test('what cannot be followed', async () => {
  const wrong = [
    ...['none', 'name', 'author.none', 'author.books.author.books', '', 'author..books'].map((path) => populate(path)),
    ...['author.none', 'none.*', 'author.*.name', 'author.books.author.books.name'].map((path) => select(path)),
    select('author.name', 'author.name'),
    queryString([{ method: 'equal', attribute: 'notes', values: ['open'] }]),
    queryString([{ method: 'orderAsc', attribute: 'notes' }]),
    queryString([{ method: 'equal', attribute: 'author.none', values: ['Ann'] }]),
    queryString([{ method: 'orderAsc', attribute: 'author.name' }]),
  ];
  for (const rest of wrong) {
    (await key.get(books.documents + rest)).refused(400, 'general_query_invalid');
    if (!rest.includes('equal') && !rest.includes('order'))
      (await key.get(`${books.documents}/one${rest}`)).refused(400, 'general_query_invalid');
  }
  const many = populate(...Array.from({ length: 61 }, () => 'author'));
  (await key.get(books.documents + many)).refused(400, 'general_query_limit_exceeded');
});

test('populate shows only readable related documents', async () => {
  const cases: readonly [Client, readonly string[]][] = [
    [guest, ['open']],
    [ada.client, ['open', 'adas']],
    [key, ['open', 'adas', 'secret']],
  ];
  for (const [client, expected] of cases) {
    for (const rest of [populate('notes'), select('notes.*'), select('notes.name'), select('*', 'notes')]) {
      assert.deepEqual(ids((await read(client, books, `/one${rest}`)).notes), expected);
      const [one] = (await read(client, books, rest)).documents as Json[];
      assert.deepEqual(ids(one?.notes), expected);
    }
    const query = `query($p: [String!]) { documentGet(databaseId: "${books.databaseId}", collectionId: "${books.id}", documentId: "one", populate: $p) { data }
      documentList(databaseId: "${books.databaseId}", collectionId: "${books.id}", populate: $p) { documents { data } } }`;
    const { data } = (await client.post('/graphql', { query, variables: { p: ['notes', 'author.books'] } })).expect(200)
      .body as {
      data: { documentGet: { data: Json }; documentList: { documents: { data: Json }[] } };
    };
    assert.deepEqual(ids(data.documentGet.data.notes), expected);
    assert.deepEqual(ids(data.documentList.documents[0]?.data.notes), expected);
    assert.deepEqual(ids((data.documentGet.data.author as Json).books), ['one', 'two']);
  }
  const permissions = ['read("users")'];
  (await key.put(authors.path, { permissions })).expect(200);
  assert.equal((await read(guest, books, `/one${populate('author')}`)).author, null);
  assert.equal(((await read(ada.client, books, `/one${populate('author')}`)).author as Json).$id, 'ann');
  (await key.put(authors.path, { permissions: ['read("any")'], enabled: false })).expect(200);
  assert.equal((await read(guest, books, `/one${populate('author')}`)).author, null);
  assert.equal(((await read(key, books, `/one${populate('author')}`)).author as Json).$id, 'ann');
  (await key.put(authors.path, { enabled: true })).expect(200);
  assert.equal(((await read(guest, books, `/one${populate('author')}`)).author as Json).$id, 'ann');
});

test('linking needs the right to read the other, and taking it away from another the right to change it', async () => {
  const mine = { permissions: ['create("users")'], documentSecurity: true, attributes: { name: text } };
  const shelves = await backend.collection(mine);
  const things = await backend.collection(mine);
  await relate(shelves, things, { type: 'oneToMany', key: 'things', twoWayKey: 'shelf', onDelete: 'cascade' });
  const post = (of: TestCollection, documentId: string, data: object) =>
    ada.client.post(of.documents, { documentId, data });
  await create(things, 'hidden', { name: 'x' });
  await create(shelves, 'others', { things: [{ $id: 'seen', $permissions: ['read("any")'], name: 'x' }] }, [
    'read("any")',
  ]);
  (await post(shelves, 'a', { things: ['hidden'] })).refused(400, 'relationship_value_invalid');
  (await post(shelves, 'a', { things: ['seen'] })).refused(401, 'user_unauthorized');
  (await post(shelves, 'a', { things: [{ $id: 'seen', name: 'y' }] })).refused(401, 'user_unauthorized');
  (await post(shelves, 'a', { things: [{ $id: 'hidden', name: 'y' }] })).refused(401, 'user_unauthorized');
  (await post(shelves, 'a', { things: [{ $id: 'own', name: 'y' }] })).expect(201);
  (await post(things, 'b', { shelf: 'others' })).expect(201);
  (await key.patch(`${things.documents}/own`, { permissions: ['read("any")'] })).expect(200);
  (await ada.client.delete(`${shelves.documents}/a`)).refused(401, 'user_unauthorized');
  assert.equal(((await key.get(`${things.documents}/own`)).expect(200).body as Json).shelf, 'a');
  (await key.put(things.path, { permissions: [] })).expect(200);
  (await post(shelves, 'c', { things: [{ name: 'y' }] })).refused(401, 'user_unauthorized');
});

test('a list of 25 takes one statement for itself and one for each relationship and level, of one snapshot', async () => {
  for (let at = 0; at < 25; at++) await create(books, `b${at}`, { name: 'x', author: 'bob', notes: ['open'] });
  const { db } = target.appliance.runtime;
  const { lists } = db;
  let statements = 0;
  let snapshots = 0;
  const counted = (reads: Reads): Reads => ({
    ...reads,
    snapshot: (body) => {
      snapshots += 1;
      return reads.snapshot((reader) =>
        body({
          all: (query) => {
            statements += 1;
            return reader.all(query);
          },
          one: (query) => {
            statements += 1;
            return reader.one(query);
          },
        }),
      );
    },
  });
  const path = `${populate('author', 'notes.books')}&queries[0]={"method":"offset","values":[3]}`;
  await read(key, books, path);
  Object.assign(db, { lists: (reading: undefined) => counted(lists(reading)) });
  try {
    const { documents } = await read(key, books, path);
    assert.equal((documents as Json[]).length, 25);
    // On Postgres another one keeps changes of the schema out meanwhile.
    assert.deepEqual([statements, snapshots], [databaseUnderTest === 'postgres' ? 5 : 4, 1]);
  } finally {
    Object.assign(db, { lists });
  }
});

test('an answer has its bound of bytes however often a document stands in it', async () => {
  const large = await backend.collection(everybody);
  const owners = await backend.collection(everybody);
  await relate(owners, large, { type: 'manyToOne', key: 'one', twoWayKey: 'all' });
  await create(large, 'l', { name: 'x'.repeat(200_000) });
  for (let at = 0; at < 6; at++) await create(owners, `o${at}`, { name: 'y', one: 'l' });
  (await key.get(`${owners.documents}${populate('one')}`)).refused(400, 'general_answer_too_large');
  (await key.get(`${owners.documents}/o1${populate('one')}`)).expect(200);
  (await key.get(`${large.documents}/l${populate('all.one')}`)).refused(400, 'general_answer_too_large');
  assert.equal(ids((await read(key, large, `/l${populate('all')}`)).all).length, 6);
});

test('a concurrent schema change is followed', async () => {
  await Promise.all([
    ...Array.from({ length: 20 }, async () => {
      const one = await read(key, books, `/one${populate('author')}`);
      assert.equal((one.author as Json).name, 'Ann');
    }),
    (async () => {
      for (let at = 0; at < 4; at++) {
        (await key.post(`${authors.attributes}/boolean`, { key: `b${at}`, required: false })).expect(202);
        (await key.delete(`${authors.attributes}/b${at}`)).expect(204);
      }
    })(),
    ...Array.from({ length: 20 }, async (_, at) =>
      (await key.patch(`${books.documents}/b${at}`, { data: { author: { $id: 'ann', name: 'Ann' } } })).expect(200),
    ),
  ]);
});

test('who replaces many related documents leaves those that are not shown to them', async () => {
  const shelves = await backend.collection({ ...everybody, permissions: ['read("any")', 'update("users")'] });
  await relate(shelves, notes, { type: 'oneToMany', key: 'notes', twoWayKey: 'shelf' });
  await create(shelves, 'wall', { notes: ['open', 'adas', 'secret'] });
  const seen = async (client: Client) => ids((await read(client, shelves, `/wall${populate('notes')}`)).notes);
  assert.deepEqual(await seen(ada.client), ['open', 'adas']);
  (await ada.client.patch(`${shelves.documents}/wall`, { data: { notes: ['open'] } })).expect(200);
  assert.deepEqual([await seen(ada.client), await seen(key)], [['open'], ['open', 'secret']]);
  assert.equal((await read(key, notes, '/secret')).shelf, 'wall');
  (await ada.client.patch(`${shelves.documents}/wall`, { data: { notes: [] } })).expect(200);
  assert.deepEqual(await seen(key), ['secret']);
  (await key.patch(`${shelves.documents}/wall`, { data: { notes: [] } })).expect(200);
  assert.deepEqual(await seen(key), []);
});
