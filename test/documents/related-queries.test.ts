// Queries on attributes of related documents, which tell nothing about documents that the caller may not read.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Permission, Query, RelationshipType, Role } from 'node-appwrite';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { sdkCallers } from './sdk.js';
import { queryString } from './setup.js';

const target = await startAppliance();
const { server, guests } = await sdkCallers(target);
const inDatabase = { databaseId: 'town' };
const people = { ...inDatabase, collectionId: 'people' };
const libraries = { ...inDatabase, collectionId: 'libraries' };
const books = { ...inDatabase, collectionId: 'books' };

before(async () => {
  await server.create({ ...inDatabase, name: 'Town' });
  const open = { permissions: [Permission.read(Role.any())] };
  await server.createCollection({ ...people, name: 'People', ...open });
  await server.createCollection({ ...libraries, name: 'Libraries', documentSecurity: true });
  await server.createCollection({ ...books, name: 'Books', ...open });
  for (const where of [people, libraries, books])
    await server.createStringAttribute({ ...where, key: 'name', required: false, size: 40 });
  await server.createIntegerAttribute({ ...libraries, key: 'shelves', required: false });
  await server.createStringAttribute({ ...books, key: 'genres', required: false, size: 20, array: true });
  const relate = (
    where: typeof people,
    relatedCollectionId: string,
    key: string,
    twoWayKey: string,
    type: RelationshipType,
  ) => server.createRelationshipAttribute({ ...where, relatedCollectionId, type, twoWay: true, key, twoWayKey });
  await relate(people, 'libraries', 'library', 'members', RelationshipType.ManyToOne);
  await relate(people, 'books', 'read', 'readers', RelationshipType.ManyToMany);
  await relate(people, 'people', 'friend', 'friendOf', RelationshipType.ManyToOne);
  const everybody = [Permission.read(Role.any())];
  const rows: [string, object, string[]][] = [
    ['l1', { name: 'Central', shelves: 9 }, everybody],
    ['l2', { name: 'Harbour', shelves: 3 }, everybody],
    ['l3', { name: 'Secret', shelves: 1 }, []],
  ];
  for (const [documentId, data, permissions] of rows)
    await server.createDocument({ ...libraries, documentId, data, permissions });
  await server.createDocument({ ...books, documentId: 'b1', data: { name: 'Emma', genres: ['novel', 'old'] } });
  await server.createDocument({ ...books, documentId: 'b2', data: { name: 'Ulysses', genres: ['novel'] } });
  for (const [documentId, data] of [
    ['p1', { name: 'Ann', library: 'l1', read: ['b1', 'b2'] }],
    ['p2', { name: 'Bob', library: 'l2', read: ['b1'], friend: 'p1' }],
    ['p3', { name: 'Cy', library: 'l3', friend: 'p2' }],
    ['p4', { name: 'Di' }],
  ] as const)
    await server.createDocument({ ...people, documentId, data });
});

const ids = async (sdk: typeof server, ...queries: string[]) => {
  const { total, documents } = await sdk.listDocuments({ ...people, queries });
  assert.equal(total, documents.length);
  return documents.map(({ $id }) => $id.slice(1)).join('');
};

test('lists are filtered by what related documents hold', async () => {
  const cases: [string, ...string[]][] = [
    ['1', Query.equal('library.name', 'Central')],
    ['12', Query.equal('library.name', ['Central', 'Harbour'])],
    ['13', Query.notEqual('library.name', 'Harbour')],
    ['12', Query.greaterThan('library.shelves', 1)],
    ['2', Query.greaterThan('library.shelves', 1), Query.lessThan('library.shelves', 5)],
    ['3', Query.notBetween('library.shelves', 2, 9)],
    ['1', Query.startsWith('library.name', 'c')],
    ['', Query.isNull('library.name')],
    ['1', Query.equal('library.$id', 'l1')],
    ['12', Query.equal('read.name', 'Emma')],
    ['1', Query.containsAll('read.name', ['Emma', 'Ulysses'])],
    ['12', Query.containsAll('read.genres', ['novel', 'old'])],
    ['2', Query.equal('friend.name', 'Ann')],
    ['3', Query.equal('friend.library.name', 'Harbour')],
    ['3', Query.equal('friend.friend.library.name', 'Central')],
    ['1', Query.equal('members.name'.replace('members', 'friendOf'), 'Bob')],
    ['14', Query.or([Query.equal('library.name', 'Central'), Query.isNull('library')])],
    ['2', Query.equal('read.name', 'Emma'), Query.equal('library.name', 'Harbour'), Query.orderDesc('name')],
  ];
  for (const [wanted, ...queries] of cases) assert.equal(await ids(server, ...queries), wanted, queries.join(' '));
  const page = await server.listDocuments({
    ...people,
    queries: [
      Query.equal('read.name', 'Emma'),
      Query.orderDesc('name'),
      Query.cursorAfter('p2'),
      Query.select(['name', 'library.name']),
    ],
  });
  assert.deepEqual(
    page.documents.map(({ name, library }) => [name, library.name]),
    [['Ann', 'Central']],
  );
  assert.deepEqual(
    (await server.listDocuments({ ...libraries, queries: [Query.equal('members.name', 'Cy')] })).documents.map(
      ({ $id }) => $id,
    ),
    ['l3'],
  );
});

test('documents that the caller may not read match nothing, whatever is asked of them', async () => {
  for (const query of [
    Query.equal('library.name', 'Secret'),
    Query.notEqual('library.name', 'Central'),
    Query.isNotNull('library.shelves'),
    Query.equal('friend.library.name', 'Secret'),
  ])
    assert.doesNotMatch(await ids(guests, query), /3/, query);
  assert.equal(await ids(guests, Query.equal('library.name', 'Central')), '1');
  const reader = (await aLoggedInUser(target)).client;
  const path = `/databases/town/collections/people/documents`;
  const search = queryString([{ method: 'equal', attribute: 'library.name', values: ['Secret'] }]);
  assert.equal((await reader.get(path + search)).expect(200).body.total, 0);
  await server.updateDocument({ ...libraries, documentId: 'l3', permissions: [Permission.read(Role.users())] });
  assert.equal((await reader.get(path + search)).expect(200).body.total, 1);

  // A closed collection says as little about its attributes.
  await server.updateCollection({ ...libraries, name: 'Libraries', documentSecurity: false });
  for (const attribute of ['library.name', 'library.no-such'])
    assert.equal(await ids(guests, Query.equal(attribute, 'Central')), '');
  assert.equal(await ids(guests, Query.or([Query.equal('library.name', 'Central'), Query.isNull('library')])), '4');
  await server.updateCollection({ ...libraries, name: 'Libraries', permissions: [Permission.read(Role.any())] });
  assert.equal(await ids(guests, Query.equal('library.name', 'Secret')), '3');
  await server.updateCollection({ ...libraries, name: 'Libraries', enabled: false });
  assert.equal(await ids(guests, Query.equal('library.name', 'Central')), '');
  await server.updateCollection({ ...libraries, name: 'Libraries', enabled: true });
});

test('a changed schema of the related collection counts at once', async () => {
  const query = () => ids(guests, Query.equal('library.town', 'Here'));
  await assert.rejects(query, /no attribute town/);
  await server.createStringAttribute({ ...libraries, key: 'town', required: false, size: 20 });
  await server.updateDocument({ ...libraries, documentId: 'l1', data: { town: 'Here' } });
  assert.equal(await query(), '1');
  await server.updateStringAttribute({
    ...libraries,
    key: 'town',
    newKey: 'place',
    required: false,
    xdefault: null as never,
  });
  await assert.rejects(query, /no attribute town/);
  assert.equal(await ids(guests, Query.equal('library.place', 'Here')), '1');
  await server.deleteAttribute({ ...libraries, key: 'place' });
  await assert.rejects(() => ids(guests, Query.equal('library.place', 'Here')), /no attribute place/);
});

test('what cannot be asked is refused with the reason', async () => {
  for (const [reason, ...queries] of [
    [/containsAll for several documents/, Query.equal('read.name', 'Emma'), Query.equal('read.name', 'Ulysses')],
    [/3 levels deep/, Query.equal('friend.friend.friend.friend.name', 'Ann')],
    [/no attribute none/, Query.equal('library.none', 'x')],
    [/no attribute none\.name/, Query.equal('none.name', 'x')],
    [/no attribute name\.x/, Query.equal('name.x', 'x')],
    [/no attribute library\.name/, Query.orderAsc('library.name')],
    [
      /at most 20 conditions on related/,
      Query.containsAll(
        'read.name',
        Array.from({ length: 21 }, (_, at) => `${at}`),
      ),
    ],
  ] as const)
    await assert.rejects(server.listDocuments({ ...people, queries: [...queries] }), reason, queries.join(' '));
});
