// Two processes on one database: what one changes in a schema the other knows at its next request, and nobody's request fails meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { aBackend, addAttribute, queryString, type TestCollection } from './setup.js';

const here = await startAppliance();
const there = await here.startSibling();
const { key, databaseId, collection: aCollection } = await aBackend(here);
const secret = key;
const user = await aLoggedInUser(here);
const userThere = createClient(there, { session: user.secret });
const guestThere = createClient(there);
const open = ['read("any")', 'create("any")', 'update("any")', 'delete("any")'];
const equal = (attribute: string, value: unknown) => queryString([{ method: 'equal', attribute, values: [value] }]);

/** A collection that the other process knows already. */
async function known(given: Parameters<typeof aCollection>[0] = {}): Promise<TestCollection> {
  const collection = await aCollection({ permissions: open, attributes: { n: { type: 'integer' } }, ...given });
  (await secret.post(collection.documents, { documentId: 'one', data: { n: 1 } })).expect(201);
  for (const path of [collection.documents, `${collection.documents}/one`]) await userThere.get(path);
  return collection;
}

test('a new attribute is usable at the next request', async () => {
  const uses: Record<string, (documents: string) => Promise<unknown>> = {
    create: async (path) => {
      const made = await userThere.post(path, { documentId: 'two', data: { fresh: 'x' } });
      assert.equal(made.expect(201).body.fresh, 'x');
    },
    get: async (path) => assert.equal((await userThere.get(`${path}/one`)).expect(200).body.fresh, null),
    list: async (path) => assert.equal((await userThere.get(path)).expect(200).list('documents')[0]?.fresh, null),
    query: async (path) => assert.equal((await userThere.get(path + equal('fresh', 'x'))).expect(200).body.total, 0),
    update: async (path) => {
      const changed = await userThere.patch(`${path}/one`, { data: { fresh: 'y' } });
      assert.equal(changed.expect(200).body.fresh, 'y');
    },
  };
  for (const use of Object.values(uses)) {
    const { path, documents } = await known();
    await addAttribute(key, path, 'fresh', { type: 'string', size: 9 });
    await use(documents);
  }
});

test('a removed attribute is refused at the next request', async () => {
  const uses: Record<string, (documents: string) => Promise<unknown>> = {
    create: async (path) =>
      (await userThere.post(path, { documentId: 'two', data: { n: 1 } })).refused(400, 'document_invalid_structure'),
    get: async (path) => assert.ok(!('n' in (await userThere.get(`${path}/one`)).expect(200).body)),
    query: async (path) => (await userThere.get(path + equal('n', 1))).refused(400, 'general_query_invalid'),
    list: async (path) => assert.ok(!('n' in ((await userThere.get(path)).expect(200).list('documents')[0] ?? {}))),
    update: async (path) =>
      (await userThere.patch(`${path}/one`, { data: { n: 2 } })).refused(400, 'document_invalid_structure'),
  };
  for (const use of Object.values(uses)) {
    const { attributes, documents } = await known();
    (await key.delete(`${attributes}/n`)).expect(204);
    await use(documents);
  }
});

test('changes of the documents that match reach all of them at the next request', async () => {
  const { secret: shared } = await aServerKey(here);
  const backend = createClient(there, { key: shared });
  const increment = { method: 'increment', values: [1] };
  const of = (documents: string) => ({
    update: () => backend.patch(documents, { data: { n: 2 } }),
    operate: () => backend.patch(documents, { data: { n: JSON.stringify(increment) } }),
    remove: () => backend.request('DELETE', documents, {}),
  });
  for (const way of ['update', 'operate', 'remove'] as const)
    for (const change of ['attributes', 'indexes'] as const) {
      const { attributes, indexes, documents } = await known();
      if (change === 'attributes')
        await addAttribute(key, attributes.replace(/\/attributes$/, ''), 'm', { type: 'integer' });
      else (await key.post(indexes, { key: 'm', type: 'key', attributes: ['n'] })).expect(202);
      assert.equal((await of(documents)[way]()).expect(200).body.total, 1, `${way} after a change of the ${change}`);
      const left = (await key.get(documents)).expect(200).list('documents');
      assert.deepEqual(
        left.map(({ n }) => n),
        way === 'remove' ? [] : [2],
      );
    }
});

test('a transaction changes each document once, however often the collection changes during its commit', async () => {
  const { path, documents, id: collectionId } = await known();
  const backend = createClient(there, { key: (await aServerKey(here)).secret });
  const others = Array.from({ length: 60 }, (_, at) => ({ $id: `d${at}`, n: 1000 * at }));
  (await key.post(documents, { documents: others })).expect(201);
  // Each document gets another value, so that each has a statement of its own.
  const data = { n: JSON.stringify({ method: 'increment', values: [1] }) };
  const operation = { databaseId, collectionId, action: 'bulkUpdate', data: { queries: [], data } };
  const rounds = 5;
  for (let round = 0; round < rounds; round++) {
    const transaction = `/databases/transactions/${(await key.post('/databases/transactions', {})).string('$id')}`;
    (await key.post(`${transaction}/operations`, { operations: [operation] })).expect(201);
    const commit = () => key.patch(transaction, { commit: true });
    const committing = commit();
    for (let at = 0; at < 15; at++) (await backend.put(path, { name: `name ${at}`, permissions: open })).expect(200);
    // Where the collection changes all the time, it is a conflict, and the transaction is as it was.
    const { status } = await committing;
    assert.ok(status === 200 || status === 409, `commit: ${status}`);
    if (status === 409) (await commit()).expect(200);
  }
  const limit = queryString([{ method: 'limit', values: [100] }]);
  const all = (await key.get(documents + limit)).expect(200).list('documents');
  assert.deepEqual([...new Set(all.map(({ n }) => Number(n) % 1000))].sort(), [rounds, rounds + 1]);
});

test('permissions of a collection hold at the next request, given and taken', async () => {
  const after = queryString([{ method: 'cursorAfter', values: ['one'] }]);
  const asks: Record<string, (documents: string, client: Client) => Promise<number>> = {
    get: async (path, client) => (await client.get(`${path}/one`)).status,
    list: async (path, client) => (await client.get(path)).status,
    cursor: async (path, client) => (await client.get(path + after)).status,
    create: async (path, client) => (await client.post(path, { documentId: 'two', data: {} })).status,
    'create again': async (path, client) => {
      const { status } = await client.post(path, { documentId: 'one', data: {} });
      return status === 409 ? 200 : status;
    },
    update: async (path, client) => (await client.patch(`${path}/one`, { data: { n: 7 } })).status,
    delete: async (path, client) => (await client.delete(`${path}/one`)).status,
  };
  for (const [name, ask] of Object.entries(asks)) {
    const given = await known({ permissions: [], documentSecurity: true });
    (await key.put(given.path, { permissions: open })).expect(200);
    assert.ok((await ask(given.documents, guestThere)) < 300, `${name} given`);
    const taken = await known({ documentSecurity: true });
    (await key.put(taken.path, { permissions: [] })).expect(200);
    const refused = { get: [404], list: [200], cursor: [400], update: [404], delete: [404] }[name] ?? [401];
    assert.deepEqual([await ask(taken.documents, guestThere)], refused, `${name} taken`);
  }
});

test('disabling and enabling hold at the next request', async () => {
  const { path, documents } = await known();
  for (const [what, type] of [
    [`/databases/${databaseId}`, 'database_not_found'],
    [path, 'collection_not_found'],
  ] as const) {
    (await key.put(what, { enabled: false })).expect(200);
    (await userThere.get(`${documents}/one`)).refused(404, type);
    (await key.put(what, { enabled: true })).expect(200);
    (await userThere.get(`${documents}/one`)).expect(200);
  }
});

test('a collection made again under its id is the new one at the next request', async () => {
  const base = `/databases/${databaseId}/collections`;
  for (const ask of ['get', 'list', 'create', 'update', 'delete']) {
    const id = `again-${ask}`;
    const documents = `${base}/${id}/documents`;
    const make = async (name: string) => {
      (await key.post(base, { collectionId: id, name: 'Again', permissions: open })).expect(201);
      await addAttribute(key, `${base}/${id}`, name, { type: 'integer' });
    };
    await make('before');
    (await userThere.post(documents, { documentId: 'one', data: { before: 1 } })).expect(201);
    for (const path of [documents, `${documents}/one`]) (await userThere.get(path)).expect(200);
    (await key.delete(`${base}/${id}`)).expect(204);
    // As many changes as before, so that the version is the same.
    await make('now');
    if (ask === 'get') (await userThere.get(`${documents}/one`)).refused(404, 'document_not_found');
    else if (ask === 'list') assert.equal((await userThere.get(documents)).expect(200).body.total, 0);
    else if (ask === 'create') (await userThere.post(documents, { documentId: 'one', data: { now: 2 } })).expect(201);
    else if (ask === 'update')
      (await userThere.patch(`${documents}/one`, { data: { now: 1 } })).refused(404, 'document_not_found');
    else (await userThere.delete(`${documents}/one`)).refused(404, 'document_not_found');
  }
});

test('no request fails while attributes and indexes come and go', async () => {
  const { path, documents, attributes, indexes } = await known();
  let over = false;
  let asked = 0;
  const client = async (number: number) => {
    const caller = number % 2 === 0 ? user.client : userThere;
    for (let at = 0; !over; at++) {
      const id = `c${number}-${at}`;
      (await caller.post(documents, { documentId: id, data: { n: at } })).expect(201);
      (await caller.get(`${documents}/${id}`)).expect(200);
      (
        await caller.get(
          documents +
            queryString([
              { method: 'orderDesc', attribute: 'n' },
              { method: 'cursorAfter', values: [id] },
            ]),
        )
      ).expect(200);
      (await caller.patch(`${documents}/${id}`, { data: { n: -at } })).expect(200);
      (await caller.get(documents + equal('n', at))).expect(200);
      asked += 5;
    }
  };
  const changes = async () => {
    for (let at = 0; at < 12; at++) {
      await addAttribute(key, path, `f${at}`, { type: at % 2 ? 'string' : 'integer', ...(at % 2 ? { size: 9 } : {}) });
      (await key.post(indexes, { key: `i${at}`, type: 'key', attributes: ['n', `f${at}`] })).expect(202);
      if (at % 3 !== 0) continue;
      (await key.delete(`${indexes}/i${at}`)).expect(204);
      (await key.delete(`${attributes}/f${at}`)).expect(204);
    }
  };
  const clients = Array.from({ length: 8 }, (_, number) => client(number));
  await Promise.race([changes(), Promise.all(clients)]);
  over = true;
  await Promise.all(clients);
  assert.ok(asked >= 30, String(asked));
  assert.equal((await key.get(path)).expect(200).list('attributes').length, 1 + 8);
});
