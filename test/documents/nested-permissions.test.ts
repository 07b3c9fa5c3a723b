// Documents nested in another: new ones get its permissions, and the answer shows them to callers that may read them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relationLimits } from '#src/contract/limits.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const backend = await aBackend(target);
const { key } = backend;

test('nested new documents get the permissions of the document above', async () => {
  const open = { documentSecurity: true, permissions: ['create("users")'] };
  const name = { type: 'string', size: 20 };
  const [top, middle, low] = [
    await backend.collection({ ...open, attributes: { name } }),
    await backend.collection({ ...open, attributes: { name } }),
    await backend.collection({ ...open, attributes: { name } }),
  ];
  const relate = async (from: typeof top, to: typeof top) => {
    const body = { relatedCollectionId: to.id, type: 'oneToMany', key: 'kids' };
    (await key.post(`${from.attributes}/relationship`, body)).expect(202);
  };
  await relate(top, middle);
  await relate(middle, low);
  const of = async (where: typeof top, id: string) =>
    (await key.get(`${where.documents}/${id}`)).expect(200).body.$permissions;
  const any = ['read("any")'];
  const kids = [
    { $id: 'm1', name: 'x', kids: [{ $id: 'l1', name: 'y' }] },
    { $id: 'm2', name: 'x', $permissions: ['read("guests")'], kids: [{ $id: 'l2', name: 'y' }] },
    { $id: 'm3', name: 'x', $permissions: [] },
  ];
  (await key.post(top.documents, { documentId: 't', data: { kids }, permissions: any })).expect(201);
  assert.deepEqual([await of(middle, 'm1'), await of(low, 'l1')], [any, any]);
  assert.deepEqual([await of(middle, 'm2'), await of(low, 'l2')], [['read("guests")'], ['read("guests")']]);
  assert.deepEqual(await of(middle, 'm3'), []);

  // An update gives those that the document has, or gets by the same request.
  (await key.patch(`${top.documents}/t`, { data: { kids: [{ $id: 'm4', name: 'x' }] } })).expect(200);
  assert.deepEqual(await of(middle, 'm4'), any);
  const users = ['read("users")'];
  const changed = { data: { kids: [{ $id: 'm5', name: 'x' }] }, permissions: users };
  (await key.patch(`${top.documents}/t`, changed)).expect(200);
  assert.deepEqual(await of(middle, 'm5'), users);
  (await key.put(`${top.documents}/u`, { data: { kids: [{ $id: 'm6', name: 'x' }] }, permissions: any })).expect(200);
  assert.deepEqual(await of(middle, 'm6'), any);

  const { client, id: userId } = await aLoggedInUser(target);
  const own = [`read("user:${userId}")`];
  const data = { kids: [{ $id: 'm7', name: 'x' }] };
  (await client.post(top.documents, { documentId: 'v', data, permissions: own })).expect(201);
  assert.deepEqual(await of(middle, 'm7'), own);
});

const name = { type: 'string', size: 20 };
type Json = Record<string, unknown>;
const membersOf = (value: unknown) => value as Json;
const namesOf = (value: unknown) => (value as Json[]).map((one) => one.name).sort();
const etagOf = ({ headers }: { readonly headers: Headers }) => headers.get('etag') ?? '';

/** Books with one author each and many tags, of which only some can be read by everybody. */
async function aLibrary() {
  const open = { permissions: ['read("any")', 'create("users")'], attributes: { name } };
  const authors = await backend.collection(open);
  const books = await backend.collection(open);
  const tags = await backend.collection({ ...open, permissions: ['create("users")'], documentSecurity: true });
  const relate = async (to: typeof books, body: object) =>
    (await key.post(`${books.attributes}/relationship`, { relatedCollectionId: to.id, ...body })).expect(202);
  await relate(authors, { type: 'manyToOne', twoWay: true, key: 'author', twoWayKey: 'books' });
  await relate(tags, { type: 'manyToMany', key: 'tags' });
  return { authors, books, tags };
}

test('the answer of a write shows the related documents that it gives as objects', async () => {
  const { authors, books, tags } = await aLibrary();
  const data = { name: 'One', author: { $id: 'ann', name: 'Ann' }, tags: [{ $id: 't1', name: 'x' }, { name: 'y' }] };
  const created = (await key.post(books.documents, { documentId: 'one', data })).expect(201);
  const ann = membersOf(created.body.author);
  assert.deepEqual(ann, (await key.get(`${authors.documents}/ann`)).expect(200).body);
  assert.deepEqual([ann.$collectionId, namesOf(created.body.tags)], [authors.id, ['x', 'y']]);
  assert.deepEqual(membersOf((created.body.tags as Json[])[0]).$databaseId, tags.databaseId);

  // The tag is that of the document itself, so that the next change can name it.
  const path = `${books.documents}/one`;
  assert.equal(etagOf(created), etagOf(await key.get(path)));
  const renamed = { data: { author: { $id: 'ann', name: 'Anna' } } };
  const changed = (await key.patch(path, renamed, { 'If-Match': etagOf(created) })).expect(200);
  assert.deepEqual([membersOf(changed.body.author).name, 'tags' in changed.body], ['Anna', false]);
  assert.equal(etagOf(changed), etagOf(await key.get(path)));

  // Ids that are given stay ids.
  const linked = (await key.post(books.documents, { documentId: 'two', data: { author: 'ann', tags: ['t1'] } })).expect(
    201,
  );
  assert.deepEqual([linked.body.author, 'tags' in linked.body], ['ann', false]);
  const mixed = (await key.put(path, { data: { name: 'One', tags: ['t1', { name: 'z' }] } })).expect(200);
  assert.deepEqual([mixed.body.author, namesOf(mixed.body.tags)], ['ann', ['x', 'z']]);

  const deep = {
    name: 'Bob',
    books: [
      { $id: 'three', tags: [{ name: 'deep' }] },
      { $id: 'four', name: 'f' },
    ],
  };
  const author = (await key.put(`${authors.documents}/bob`, { data: deep })).expect(200).body;
  const [three, four] = (author.books as Json[]).toSorted((one) => (one.$id === 'three' ? -1 : 1));
  assert.deepEqual([namesOf(three?.tags), four?.author, four?.tags], [['deep'], 'bob', []]);
});

test('an answer shows only readable documents, and duplicates and transactions get the same', async () => {
  const { books, authors, tags } = await aLibrary();
  const { client, id } = await aLoggedInUser(target);
  const mine = [`read("user:${id}")`];
  const given = [
    { $id: 'mine', name: 'x', $permissions: mine },
    { $id: 'hidden', name: 'y', $permissions: [] },
  ];
  const body = { documentId: 'one', data: { author: { $id: 'ann', name: 'Ann' }, tags: given } };
  const once = () => client.post(books.documents, body, { 'Idempotency-Key': `once-${books.id}` });
  const [first, second] = [(await once()).expect(201), (await once()).expect(201)];
  assert.deepEqual([namesOf(first.body.tags), membersOf(first.body.author).$id], [['x'], 'ann']);
  assert.equal(first.text, second.text);
  assert.equal(etagOf(first), etagOf(second));

  // The right to change a document is none to read it, nor what it is related to.
  const update = { permissions: ['update("users")', 'read("guests")'] };
  (await key.put(books.path, update)).expect(200);
  const unread = (await client.patch(`${books.documents}/one`, { data: { tags: [{ $id: 'new', name: 'n' }] } })).expect(
    200,
  ).body;
  assert.deepEqual(
    Object.keys(unread).filter((one) => !one.startsWith('$')),
    [],
  );

  (await key.put(books.path, { permissions: ['read("any")', 'create("users")', 'update("users")'] })).expect(200);
  (await key.put(authors.path, { permissions: ['create("users")'] })).expect(200);
  const blind = { documentId: 'two', data: { author: { $id: 'ben', name: 'Ben' } } };
  assert.equal((await client.post(books.documents, blind)).expect(201).body.author, null);

  const transactionId = (await key.post('/databases/transactions', {})).expect(201).body.$id;
  const staged = { documentId: 'three', transactionId, data: { tags: [{ $id: 'staged', name: 's' }] } };
  assert.deepEqual(namesOf((await key.post(books.documents, staged)).expect(201).body.tags), ['s']);
  (await key.get(`${tags.documents}/staged`)).refused(404, 'document_not_found');
});

const open = { documentSecurity: true, permissions: ['create("users")'], attributes: { name } };

test('only links made by callers who may change the document prevent its deletion', async () => {
  for (const [type, twoWay] of [
    ['manyToOne', true],
    ['manyToOne', false],
    ['oneToMany', true],
    ['manyToMany', true],
  ] as const) {
    const [posts, notes] = [await backend.collection(open), await backend.collection(open)];
    const relation = { type, twoWay, twoWayKey: 'notes', onDelete: 'restrict' };
    const [from, to] = type === 'manyToOne' ? [notes, posts] : [posts, notes];
    const [key1, key2] = type === 'manyToOne' ? ['post', 'notes'] : ['notes', 'post'];
    const body = { ...relation, relatedCollectionId: to.id, key: key1, twoWayKey: key2 };
    (await key.post(`${from.attributes}/relationship`, body)).expect(202);
    const [owner, reader] = [await aLoggedInUser(target), await aLoggedInUser(target)];
    const own = ['read("any")', `update("user:${owner.id}")`, `delete("user:${owner.id}")`];
    for (const documentId of ['p', 'q'])
      (await owner.client.post(posts.documents, { documentId, data: { name: 'x' }, permissions: own })).expect(201);
    const post = (id: string) => (type === 'manyToMany' ? [id] : id);
    const relate = ({ client }: typeof owner, documentId: string, id: string) =>
      client.post(notes.documents, { documentId, data: { name: 'n', post: post(id) } });
    (await relate(reader, 'readers', 'p')).expect(201);
    (await relate(reader, 'others', 'q')).expect(201);
    (await relate(owner, 'owners', 'q')).expect(201);
    (await owner.client.delete(`${posts.documents}/p`)).expect(204);
    const left = (await reader.client.get(`${notes.documents}/readers?populate[0]=post`)).expect(200).body;
    assert.deepEqual(left.post, type === 'manyToMany' ? [] : null);
    (await owner.client.delete(`${posts.documents}/q`)).refused(403, 'document_delete_restricted');
    (await owner.client.delete(`${notes.documents}/owners`)).expect(204);
    (await owner.client.delete(`${posts.documents}/q`)).expect(204);
  }
});

test('a document that a stranger relates to one with `cascade` stays, unlinked, and does not prevent the deletion', async () => {
  for (const [type, twoWay] of [
    ['oneToMany', true],
    ['manyToOne', false],
    ['manyToMany', true],
  ] as const) {
    const [posts, notes] = [await backend.collection(open), await backend.collection(open)];
    const [from, to] = type === 'manyToOne' ? [notes, posts] : [posts, notes];
    const [key1, key2] = type === 'manyToOne' ? ['post', 'notes'] : ['notes', 'post'];
    const relation = { type, twoWay, key: key1, twoWayKey: key2, relatedCollectionId: to.id, onDelete: 'cascade' };
    (await key.post(`${from.attributes}/relationship`, relation)).expect(202);
    const [owner, reader] = [await aLoggedInUser(target), await aLoggedInUser(target)];
    const own = (id: string) => ['read("any")', `update("user:${id}")`, `delete("user:${id}")`];
    for (const documentId of ['p', 'q'])
      (
        await owner.client.post(posts.documents, { documentId, data: { name: 'x' }, permissions: own(owner.id) })
      ).expect(201);
    const post = (id: string) => (type === 'manyToMany' ? [id] : id);
    const relate = ({ client }: typeof owner, documentId: string, id: string, permissions: string[]) =>
      client.post(notes.documents, { documentId, data: { name: 'n', post: post(id) }, permissions });
    (await relate(reader, 'readers', 'p', own(reader.id))).expect(201);
    (await relate(owner, 'owners', 'p', own(owner.id))).expect(201);
    // Related by the owner, who may not delete it.
    (await relate(owner, 'kept', 'q', own(owner.id).slice(0, 2))).expect(201);
    (await owner.client.delete(`${posts.documents}/p`)).expect(204);
    (await reader.client.get(`${notes.documents}/owners`)).expect(404);
    const left = (await reader.client.get(`${notes.documents}/readers?populate[0]=post`)).expect(200).body;
    assert.deepEqual(left.post, type === 'manyToMany' ? [] : null);
    (await owner.client.delete(`${posts.documents}/q`)).refused(401, 'user_unauthorized');
  }
});

test('a stranger can neither by a one-to-one link nor by many links prevent a deletion with `cascade`', async () => {
  const [posts, notes] = [await backend.collection(open), await backend.collection(open)];
  for (const [type, twoWayKey] of [
    ['oneToOne', 'note'],
    ['manyToOne', 'notes'],
  ]) {
    const relation = { type, twoWay: true, key: `${type}`, twoWayKey, relatedCollectionId: posts.id };
    (await key.post(`${notes.attributes}/relationship`, { ...relation, onDelete: 'cascade' })).expect(202);
  }
  const [owner, reader] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const own = (id: string) => [`read("user:${id}")`, `update("user:${id}")`, `delete("user:${id}")`];
  const permissions = [...own(owner.id), 'read("users")'];
  for (const documentId of ['p', 'q'])
    (await owner.client.post(posts.documents, { documentId, data: { name: 'x' }, permissions })).expect(201);
  const relate = (documentId: string, data: object) =>
    reader.client.post(notes.documents, { documentId, data, permissions: own(reader.id) });
  (await relate('one', { oneToOne: 'p' })).expect(201);
  (await owner.client.delete(`${posts.documents}/p`)).expect(204);
  assert.equal(
    (await reader.client.get(`${notes.documents}/one?populate[0]=oneToOne`)).expect(200).body.oneToOne,
    null,
  );
  const many = relationLimits.deleted + 50;
  for (let at = 0; at < many; at += 50)
    await Promise.all(
      Array.from({ length: 50 }, async (_, beside) =>
        (await relate(`n${at + beside}`, { manyToOne: 'q' })).expect(201),
      ),
    );
  (await owner.client.delete(`${posts.documents}/q`)).expect(204);
  assert.equal((await reader.client.get(notes.documents)).expect(200).body.total, 1 + many);
});

test('links that were made by an earlier version restrict', async () => {
  const { migrator } = target.appliance.runtime;
  const people = await backend.collection({
    documentSecurity: true,
    permissions: ['create("users")'],
    attributes: { name },
  });
  const body = { relatedCollectionId: people.id, type: 'manyToOne', key: 'boss', onDelete: 'restrict' };
  (await key.post(`${people.attributes}/relationship`, body)).expect(202);
  const [owner, reader] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const own = ['read("any")', `update("user:${owner.id}")`, `delete("user:${owner.id}")`];
  (await owner.client.post(people.documents, { documentId: 'a', data: {}, permissions: own })).expect(201);
  (await reader.client.post(people.documents, { documentId: 'b', data: { boss: 'a' } })).expect(201);

  const tables = (await runSql(target, 'select number, relations from collections')).flatMap(({ relations }) =>
    (JSON.parse(String(relations)) as { link: { collection: number; attribute: number } }[]).map(
      ({ link }) => `l_${link.collection}_${link.attribute}`,
    ),
  );
  for (const table of new Set(tables)) await runSql(target, `alter table ${table} drop column restricts`);
  await runSql(target, "delete from schema_migrations where name = '0047_restricting_links'");
  assert.deepEqual(await migrator.up(), ['0047_restricting_links']);
  (await owner.client.delete(`${people.documents}/a`)).refused(403, 'document_delete_restricted');
  (await reader.client.post(people.documents, { documentId: 'c', data: { boss: 'b' } })).expect(201);
});
