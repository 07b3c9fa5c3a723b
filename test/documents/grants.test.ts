// Giving permissions: defaults, forms, roles one holds, and when a change takes effect.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { rowsOf, runSql } from '../harness/database.js';
import { crew, someCallers } from './callers.js';
import { graphqlCalls, restCalls } from './calls.js';
import { aBackend, type TestCollection } from './setup.js';

const target = await startAppliance();
const { key, databaseId, collection: aCollection } = await aBackend(target);
const callers = await someCallers(target);
const { ada, bob, eve, guest, mia } = callers;
const attributes = { n: { type: 'integer' } };
const open = ['read("any")', 'create("any")', 'update("any")', 'delete("any")'];
const openCollection = () => aCollection({ permissions: open, documentSecurity: true, attributes });
const permissionsOf = async ({ documents }: TestCollection, id: string) =>
  (await key.get(`${documents}/${id}`)).expect(200).body.$permissions;
const own = (id: string) => ['read', 'update', 'delete'].map((action) => `${action}("user:${id}")`);

test('without permissions, a document belongs to its creator only', async () => {
  const collection = await openCollection();
  for (const calls of [restCalls(collection), graphqlCalls(collection)]) {
    for (const { client, name } of [ada, guest, callers.key]) {
      await calls.create(client, 'made', { n: 1 });
      assert.deepEqual(await permissionsOf(collection, 'made'), client === ada.client ? own(ada.name) : [], name);
      await calls.delete(client, 'made');
      await calls.create(client, 'made', { n: 1 }, []);
      assert.deepEqual(await permissionsOf(collection, 'made'), [], name);
      await calls.delete(client, 'made');
    }
  }
});

test('write is expanded, duplicates are dropped, and an invalid permission is refused', async () => {
  const collection = await openCollection();
  const create = (permissions: unknown) =>
    key.post(collection.documents, { documentId: 'unique()', data: {}, permissions });
  const given = ['write("users")', 'read("any")', 'update("users")'];
  const stored = (await create(given)).expect(201).body.$permissions;
  assert.deepEqual(stored, ['update("users")', 'delete("users")', 'read("any")']);
  const wrong = [
    'read(any)',
    'read("user:")',
    'read("user:a b")',
    'own("any")',
    'read("all")',
    'read("label:a-b")',
    '',
  ];
  for (const permission of [...wrong, 'create("any")', 'read("any") ', 'read("user:x\\"")'])
    (await create([permission])).refused(400, 'general_argument_invalid');
  (await create(Array.from({ length: 101 }, () => 'read("any")'))).refused(400, 'general_argument_invalid');
  (await create('read("any")')).refused(400, 'general_argument_invalid');
});

test('users and guests grant only to roles of their own; a refusal leaves nothing', async () => {
  const collection = await openCollection();
  const foreign: [typeof ada, string][] = [
    ...[ada, guest].flatMap((caller) =>
      [`user:${bob.name}`, 'label:gold', 'users/verified', 'team:x', 'member:x', 'user:nobody'].map(
        (role): [typeof ada, string] => [caller, role],
      ),
    ),
    ...[`team:${crew}/owner`, `team:${crew}/Cook`, 'label:gold'].map((role): [typeof ada, string] => [mia, role]),
    ...[`team:${crew}`, `team:${crew}/cook`].map((role): [typeof ada, string] => [ada, role]),
    ...[`user:${ada.name}/verified`, 'guests'].map((role): [typeof ada, string] => [ada, role]),
    ...['users', `user:${ada.name}`].map((role): [typeof ada, string] => [guest, role]),
  ];
  for (const calls of [restCalls(collection), graphqlCalls(collection)]) {
    for (const [{ client }, role] of foreign) {
      const refused = await calls.create(client, 'refused', { n: 1 }, [`read("any")`, `read("${role}")`]);
      assert.equal(refused.type, 'user_unauthorized', role);
      assert.equal((await calls.get(callers.key.client, 'refused')).type, 'document_not_found');
      await calls.create(callers.key.client, 'kept', { n: 1 }, ['read("users")']);
      assert.equal(
        (await calls.update(client, 'kept', { n: 2 }, [`write("${role}")`])).type,
        'user_unauthorized',
        role,
      );
      const { n, $permissions } = (await key.get(`${collection.documents}/kept`)).body;
      assert.deepEqual([n, $permissions], [1, ['read("users")']]);
      await calls.delete(callers.key.client, 'kept');
    }
    for (const { client, roles } of [ada, bob, eve, guest, mia]) {
      const mine = (roles ?? []).map((role) => `read("${role}")`);
      assert.equal((await calls.create(client, 'mine', {}, mine)).type, 'ok');
      assert.deepEqual(await permissionsOf(collection, 'mine'), mine);
      await calls.delete(callers.key.client, 'mine');
    }
    assert.equal((await calls.create(callers.key.client, 'any', {}, ['read("label:silver")'])).type, 'ok');
    await calls.delete(callers.key.client, 'any');
  }
});

test('an update keeps the permissions it does not name, and an empty list clears them', async () => {
  const collection = await openCollection();
  const calls = restCalls(collection);
  await calls.create(ada.client, 'one', { n: 1 });
  await calls.update(ada.client, 'one', { n: 2 });
  assert.deepEqual(await permissionsOf(collection, 'one'), own(ada.name));
  (await ada.client.patch(`${collection.documents}/one`, { permissions: [] })).expect(200);
  assert.deepEqual(await permissionsOf(collection, 'one'), []);
  (await ada.client.patch(`${collection.documents}/one`, {})).refused(400, 'document_missing_payload');
});

test('a change of permissions holds at the next request', async () => {
  const collection = await aCollection({ documentSecurity: true, attributes });
  const calls = restCalls(collection);
  const sees = async (client: typeof key) => [(await calls.get(client, 'one')).type, (await calls.list(client)).total];
  await calls.create(key, 'one', { n: 1 }, ['read("label:gold")']);
  assert.deepEqual(
    [await sees(eve.client), await sees(bob.client)],
    [
      ['ok', 1],
      ['document_not_found', 0],
    ],
  );
  await runSql(target, `update users set labels = '[]' where id = ?`, [eve.name]);
  assert.deepEqual(await sees(eve.client), ['document_not_found', 0]);
  await runSql(target, `update users set labels = '["gold"]' where id = ?`, [eve.name]);
  await calls.update(key, 'one', {}, [`read("user:${bob.name}")`]);
  assert.deepEqual(
    [await sees(eve.client), await sees(bob.client)],
    [
      ['document_not_found', 0],
      ['ok', 1],
    ],
  );
  (await key.put(collection.path, { documentSecurity: false })).expect(200);
  assert.deepEqual(await sees(bob.client), ['document_not_found', undefined]);
  (await key.put(collection.path, { permissions: ['read("users")'] })).expect(200);
  assert.deepEqual(
    [await sees(eve.client), await sees(guest.client)],
    [
      ['ok', 1],
      ['document_not_found', undefined],
    ],
  );
});

test('a disabled database or collection exists for server keys only', async () => {
  const collection = await aCollection({ permissions: open, attributes });
  const database = `/databases/${databaseId}`;
  for (const [path, type] of [
    [database, 'database_not_found'],
    [collection.path, 'collection_not_found'],
  ] as const) {
    for (const calls of [restCalls(collection), graphqlCalls(collection)]) {
      await calls.create(key, 'one', {});
      (await key.put(path, { enabled: false })).expect(200);
      const ask = async (client: typeof key) => [
        (await calls.create(client, 'two', {})).type,
        (await calls.get(client, 'one')).type,
        (await calls.list(client)).type,
        (await calls.update(client, 'one', { n: 1 })).type,
        (await calls.delete(client, 'two')).type,
      ];
      for (const { client } of [ada, guest]) assert.deepEqual(await ask(client), Array(5).fill(type));
      assert.deepEqual(await ask(key), Array(5).fill('ok'));
      (await key.put(path, { enabled: true })).expect(200);
      assert.deepEqual(await ask(ada.client), Array(5).fill('ok'));
    }
  }
});

/** The system members of a document. */
const systemOf = (body: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name.startsWith('$')));

test('a caller who may change a document but not read it gets none of its attributes', async () => {
  const secret = { n: 7 };
  for (const [documentSecurity, permissions, own] of [
    [false, ['update("any")', 'delete("any")'], []],
    [true, ['update("any")', 'delete("any")'], []],
    [true, [], ['update("any")', 'delete("any")']],
    [true, ['update("any")'], ['delete("any")']],
  ] as const) {
    const collection = await aCollection({ permissions: [...permissions], documentSecurity, attributes });
    const path = `${collection.documents}/one`;
    const create = () => key.post(collection.documents, { documentId: 'one', data: secret, permissions: own });
    (await create()).expect(201);
    (await ada.client.get(path)).refused(404, 'document_not_found');
    // The right value and a wrong one are answered alike.
    for (const data of [{}, { n: 7 }, { n: 8 }, { $id: 'two' }]) {
      const before = (await key.get(path)).body.$updatedAt;
      const answer = (await ada.client.patch(path, { data })).expect(200).body;
      const stored = (await key.get(path)).body;
      assert.deepEqual(answer, systemOf(stored));
      assert.ok(String(stored.$updatedAt) > String(before));
    }
    const graphql = async (field: string, more = '') => {
      const of = `databaseId: "${databaseId}", collectionId: "${collection.id}", documentId: "one"`;
      const { body } = await ada.client.post('/graphql', { query: `mutation { ${field}(${of}${more}) { id data } }` });
      return body;
    };
    const shown = { id: 'one', data: {} };
    assert.deepEqual(await graphql('documentUpdate', ', data: {n: 9}'), { data: { documentUpdate: shown } });
    assert.equal((await key.get(path)).body.n, 9);
    assert.deepEqual(await graphql('documentDelete'), { data: { documentDelete: shown } });
    (await create()).expect(201);
    assert.equal((await ada.client.delete(path)).expect(204).text, '');
  }
});

test('the event of such a change still holds the attributes', async () => {
  const collection = await aCollection({ permissions: ['update("any")', 'delete("any")'], attributes });
  (await key.post(collection.documents, { documentId: 'told', data: { n: 7 } })).expect(201);
  (await ada.client.patch(`${collection.documents}/told`, { data: {} })).expect(200);
  (await ada.client.delete(`${collection.documents}/told`)).expect(204);
  const told = (await rowsOf(target, 'events', target.project.id)).filter(({ data }) => String(data).includes('told'));
  assert.deepEqual(
    told.map(({ data }) => JSON.parse(String(data)).n),
    [7, 7, 7],
  );
});

test('for a reader, an update that changes nothing leaves no trace', async () => {
  const collection = await aCollection({ permissions: ['update("any")', 'read("any")'], attributes });
  const path = `${collection.documents}/one`;
  const made = (await key.post(collection.documents, { documentId: 'one', data: { n: 7 } })).expect(201).body;
  for (const same of [{ data: {} }, { data: { n: 7 } }, { data: { $id: 'two' } }])
    for (const client of [ada.client, key]) assert.deepEqual((await client.patch(path, same)).expect(200).body, made);
});

test('a caller without the right to change a document learns nothing of its attributes by trying', async () => {
  const collection = await aCollection({ permissions: [], documentSecurity: true, attributes });
  const path = `${collection.documents}/one`;
  (await key.post(collection.documents, { documentId: 'one', data: { n: 7 } })).expect(201);
  const select = `${path}?queries[]=${encodeURIComponent('{"method":"select","values":["guess"]}')}`;
  for (const data of [{ n: 'x' }, { guess: 1 }, { n: 1 }, { n: 7 }, {}])
    for (const one of [path, `${path}-that-is-not-there`])
      (await ada.client.patch(one, { data })).refused(404, 'document_not_found');
  for (const one of [path, `${path}-that-is-not-there`])
    (await ada.client.delete(one)).refused(404, 'document_not_found');
  (await ada.client.post(collection.documents, { documentId: 'x', data: { guess: 1 } })).refused(
    401,
    'user_unauthorized',
  );
  (await ada.client.get(select)).refused(404, 'document_not_found');
});

test('a server key that may write but not read is shown none of the attributes either', async () => {
  const { documents } = await aCollection({
    attributes: { n: { type: 'integer' }, title: { type: 'string', size: 20 } },
  });
  for (const documentId of ['a', 'b'])
    (await key.post(documents, { documentId, data: { n: 1, title: 'hidden' } })).expect(201);
  const { client } = await aServerKey(target, { scopes: ['documents.write'] });
  (await client.get(`${documents}/a`)).refused(401, 'general_unauthorized_scope');
  const one = [
    await client.patch(`${documents}/a`, { data: {} }),
    await client.put(`${documents}/a`, { data: { n: 2 } }),
    await client.patch(`${documents}/a/n/increment`, {}),
  ].map((answer) => answer.expect(200).body);
  const many = [
    await client.patch(documents, { data: { n: 4 } }),
    await client.request('DELETE', documents, { queries: [] }),
  ].flatMap((answer) => answer.expect(200).list('documents'));
  assert.equal(many.length, 4);
  for (const document of [...one, ...many])
    assert.deepEqual(
      Object.keys(document).filter((name) => !name.startsWith('$')),
      [],
    );
  const created = (await client.post(documents, { documentId: 'c', data: { title: 'its own' } })).expect(201).body;
  assert.equal(created.title, 'its own');
});
