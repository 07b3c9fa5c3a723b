// The unmodified node-appwrite builds a schema and works with documents: as an application's backend and as a logged-in user.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ID, type Models, Permission, Role } from 'node-appwrite';
import { startAppliance } from '../harness/appliance.js';
import { refused, sdkCallers } from './sdk.js';

const { server, ada, adas, bobs, guests } = await sdkCallers(await startAppliance());
const of = { databaseId: 'blog', collectionId: 'posts' };
const largest = 2n ** 63n - 1n;

test('a backend makes a database', async () => {
  const made = await server.create({ databaseId: 'blog', name: 'Blog' });
  assert.deepEqual([made.$id, made.name, made.enabled, made.type], ['blog', 'Blog', true, 'legacy']);
  assert.equal((await server.get({ databaseId: 'blog' })).$createdAt, made.$createdAt);
  assert.equal((await server.update({ databaseId: 'blog', name: 'Journal' })).name, 'Journal');
  const generated = await server.create({ databaseId: ID.unique(), name: 'Other' });
  assert.deepEqual(
    (await server.list()).databases.map(({ $id }) => $id),
    ['blog', generated.$id],
  );
  await server.delete({ databaseId: generated.$id });
  assert.equal((await server.list()).total, 1);
  await refused(server.create({ databaseId: 'blog', name: 'Again' }), 409, 'database_already_exists');
  await refused(server.get({ databaseId: generated.$id }), 404, 'database_not_found');
  await refused(adas.list(), 401, 'general_unauthorized_scope');
});

test('a backend makes a collection with every type of attribute', async () => {
  const permissions = [Permission.read(Role.users()), Permission.create(Role.users())];
  const made = await server.createCollection({ ...of, name: 'Posts', permissions, documentSecurity: true });
  assert.deepEqual([made.$permissions, made.documentSecurity, made.enabled], [permissions, true, true]);
  const optional = { ...of, required: false };
  await server.createStringAttribute({ ...of, key: 'title', size: 100, required: true });
  const views = await server.createIntegerAttribute({ ...optional, key: 'views', min: 0, max: largest, xdefault: 0 });
  assert.deepEqual([views.min, views.max, views.default], [0, largest, 0]);
  await server.createFloatAttribute({ ...optional, key: 'rating', min: 0, max: 5.5, xdefault: 2.5 });
  await server.createBooleanAttribute({ ...optional, key: 'public', xdefault: false });
  const when = '2026-01-02T03:04:05.678+00:00';
  await server.createDatetimeAttribute({ ...optional, key: 'when', xdefault: when });
  await server.createEmailAttribute({ ...optional, key: 'mail' });
  await server.createUrlAttribute({ ...optional, key: 'link' });
  await server.createIpAttribute({ ...optional, key: 'from' });
  const state = await server.createEnumAttribute({ ...optional, key: 'state', elements: ['draft', 'done'] });
  assert.deepEqual(
    [state.type, state.format, state.elements, state.status],
    ['string', 'enum', ['draft', 'done'], 'available'],
  );
  await server.createStringAttribute({ ...optional, key: 'tags', size: 20, array: true });
  await server.createIntegerAttribute({ ...optional, key: 'votes', array: true });

  const listed = await server.listAttributes(of);
  assert.equal(listed.total, 11);
  assert.deepEqual((await server.getCollection(of)).attributes, listed.attributes);
  const changed = await server.updateStringAttribute({
    ...of,
    key: 'title',
    required: true,
    xdefault: null as never,
    size: 200,
  });
  assert.equal(changed.size, 200);
  const { min, max } = await server.updateIntegerAttribute({
    ...optional,
    key: 'views',
    xdefault: 7,
    min: -5,
    max: largest,
  });
  assert.deepEqual([min, max], [-5, largest]);
  await server.createBooleanAttribute({ ...optional, key: 'mistake' });
  await server.deleteAttribute({ ...of, key: 'mistake' });

  const again = server.createStringAttribute({ ...optional, key: 'title', size: 5 });
  await refused(again, 409, 'attribute_already_exists');
  const impossible = server.createBooleanAttribute({ ...of, key: 'yes', required: true, xdefault: true });
  await refused(impossible, 400, 'attribute_default_unsupported');
  await refused(server.getAttribute({ ...of, key: 'mistake' }), 404, 'attribute_not_found');
  await refused(server.createCollection({ ...of, name: 'Twice' }), 409, 'collection_already_exists');
  await refused(server.getCollection({ ...of, collectionId: 'none' }), 404, 'collection_not_found');
});

test('a backend makes indexes', async () => {
  const attributes = ['state', 'views'];
  const index = await server.createIndex({
    ...of,
    key: 'by-state',
    type: 'key' as never,
    attributes,
    orders: ['ASC', 'DESC'] as never,
  });
  assert.deepEqual([index.key, index.attributes, index.orders], ['by-state', attributes, ['ASC', 'DESC']]);
  await server.createIndex({ ...of, key: 'by-link', type: 'unique' as never, attributes: ['link'] });
  assert.equal((await server.listIndexes(of)).total, 2);
  assert.equal((await server.getIndex({ ...of, key: 'by-link' })).type, 'unique');
  const unknown = server.createIndex({ ...of, key: 'bad', type: 'key' as never, attributes: ['none'] });
  await refused(unknown, 400, 'attribute_unknown');
  await server.deleteIndex({ ...of, key: 'by-state' });
  await refused(server.getIndex({ ...of, key: 'by-state' }), 404, 'index_not_found');
});

test('users write and read documents, whole numbers of 64 bits included', async () => {
  const data = { title: 'Largest', views: largest, rating: 0.1, tags: ['a', 'b'], votes: [largest, -1], state: 'done' };
  const post = await adas.createDocument({ ...of, documentId: 'largest', data });
  const { title, views, rating, tags, votes, state, when, mail } = post as unknown as Record<string, unknown>;
  assert.deepEqual({ title, views, rating, tags, votes, state }, data);
  assert.deepEqual([when, mail], ['2026-01-02T03:04:05.678+00:00', null]);
  assert.deepEqual(
    post.$permissions,
    ['read', 'update', 'delete'].map((action) => `${action}("user:${ada.id}")`),
  );
  assert.deepEqual(await bobs.getDocument({ ...of, documentId: 'largest' }), post);

  const changed = await adas.updateDocument({ ...of, documentId: 'largest', data: { views: -5n, title: 'Least' } });
  assert.deepEqual([changed.views, changed.title, changed.rating], [-5, 'Least', 0.1]);
  const named = (document: string) => ({ ...of, documentId: document });
  await refused(
    bobs.updateDocument<Models.DefaultDocument>({ ...named('largest'), data: { title: 'Bob' } }),
    401,
    'user_unauthorized',
  );
  await refused(bobs.deleteDocument(named('largest')), 401, 'user_unauthorized');
  await refused(guests.getDocument(named('largest')), 404, 'document_not_found');
  await refused(
    guests.createDocument<Models.DefaultDocument>({ ...named('guest'), data: { title: 'No' } }),
    401,
    'user_unauthorized',
  );
  const mine = [Permission.read(Role.any())];
  const foreign = adas.createDocument<Models.DefaultDocument>({
    ...named('foreign'),
    data: { title: 'No' },
    permissions: [Permission.read(Role.user('eve'))],
  });
  await refused(foreign, 401, 'user_unauthorized');
  await adas.updateDocument({ ...named('largest'), permissions: [...mine, Permission.write(Role.user(ada.id))] });
  assert.equal((await guests.getDocument(named('largest'))).title, 'Least');

  await refused(
    adas.createDocument<Models.DefaultDocument>({ ...named('largest'), data: { title: 'Twice' } }),
    409,
    'document_already_exists',
  );
  await refused(
    adas.createDocument<Models.DefaultDocument>({ ...named('x'), data: {} }),
    400,
    'document_invalid_structure',
  );
  await refused(
    adas.createDocument<Models.DefaultDocument>({ ...named('x'), data: { title: 'x', views: 'many' } }),
    400,
    'document_invalid_structure',
  );
  await server.createDocument({ ...named('linked'), data: { title: 'x', link: 'https://example.com/' } });
  const taken = server.createDocument<Models.DefaultDocument>({
    ...named('y'),
    data: { title: 'y', link: 'https://example.com/' },
  });
  await refused(taken, 409, 'document_unique_constraint_violation');
  await adas.deleteDocument(named('largest'));
  await refused(adas.getDocument(named('largest')), 404, 'document_not_found');
});

test('the content of a collection is removed with it', async () => {
  assert.equal((await server.updateCollection({ ...of, name: 'Old posts' })).name, 'Old posts');
  assert.equal((await server.listCollections({ databaseId: 'blog' })).total, 1);
  await server.deleteCollection(of);
  await refused(adas.listDocuments(of), 404, 'collection_not_found');
  await server.delete({ databaseId: 'blog' });
  await refused(adas.listDocuments(of), 404, 'database_not_found');
});
