// What a change of a document leaves behind: one event with the document, one audit row without its values, in the same commit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { someCallers } from './callers.js';
import { graphqlCalls, restCalls } from './calls.js';
import { aBackend, addAttribute, type TestCollection } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const { ada, guest } = await someCallers(target);
const open = ['read("any")', 'create("users")', 'update("users")', 'delete("users")'];
const attributes = { secret: { type: 'string', size: 40 }, n: { type: 'integer' } };

async function uniqueCollection(): Promise<TestCollection> {
  const collection = await aCollection({ permissions: open, attributes });
  (await key.post(collection.indexes, { key: 'u', type: 'unique', attributes: ['n'] })).expect(202);
  return collection;
}

/** The rows that an act adds to a table. */
async function added(table: string, act: () => Promise<unknown>) {
  const known = new Set((await rowsOf(target, table)).map(({ id }) => id));
  await act();
  return (await rowsOf(target, table)).filter(({ id }) => !known.has(id));
}

const one = (name: string) => ({ audit: [name], events: [name], messages: [] });

test('each change leaves one event and one audit row, over REST and GraphQL', async () => {
  const collection = await uniqueCollection();
  for (const calls of [restCalls(collection), graphqlCalls(collection)]) {
    const steps: [string, () => Promise<unknown>][] = [
      ['documentCreated', () => calls.create(ada.client, 'one', { n: 1 })],
      ['documentUpdated', () => calls.update(ada.client, 'one', { n: 2 })],
      ['documentUpdated', () => calls.update(ada.client, 'one', {}, [])],
      ['documentDeleted', () => calls.delete(ada.client, 'one')],
    ];
    for (const [name, act] of steps) assert.deepEqual((await recordedBy(target, act)).recorded, one(name));
  }
});

test('a deleted collection leaves one audit row with the number of its documents, and so does each of a deleted database', async () => {
  const { key: backend, collection, databaseId } = await aBackend(target);
  const collections = [await collection({ attributes }), await collection({ attributes }), await collection({})];
  for (const [at, { documents }] of collections.entries())
    for (let n = 0; n < 3 - at; n++) (await backend.post(documents, { documentId: `d${n}`, data: {} })).expect(201);
  (await backend.delete(`${collections[0]?.documents}/d0`)).expect(204);
  const counts = async (path: string) => {
    const act = async () => void (await backend.delete(path)).expect(204);
    const rows = await added('audit_entries', async () => {
      const { recorded } = await recordedBy(target, act);
      assert.deepEqual(recorded.events, []);
    });
    const deleted = rows.filter(({ action }) => action === 'collectionDeleted');
    return deleted.map(({ data }) => JSON.parse(String(data)).documents).sort();
  };
  assert.deepEqual(await counts(String(collections[0]?.path)), [2]);
  assert.deepEqual(await counts(`/databases/${databaseId}`), [1, 2]);
});

test('each increment and decrement leaves one event and one audit row', async () => {
  const { documents } = await aCollection({ permissions: open, attributes });
  (await ada.client.post(documents, { documentId: 'one', data: { n: 1 } })).expect(201);
  for (const step of ['increment', 'decrement']) {
    const act = async () => void (await ada.client.patch(`${documents}/one/n/${step}`, { value: 2 })).expect(200);
    assert.deepEqual((await recordedBy(target, act)).recorded, one('documentUpdated'));
  }
});

test('an event carries the document as the answer shows it; an audit row only which attributes were given', async () => {
  const { documents } = await aCollection({ permissions: open, attributes });
  const big = '{"documentId":"one","data":{"secret":"hush \\"é😀","n":9223372036854775807}}';
  let answer = '';
  const event = async (act: () => Promise<{ text: string }>) => {
    const [row, ...more] = await added('events', async () => {
      answer = (await act()).text;
    });
    assert.deepEqual(more, []);
    return row;
  };
  const created = await event(() => ada.client.post(documents, big));
  assert.deepEqual([created?.type, created?.data], ['documentCreated', answer]);
  assert.ok(answer.includes('9223372036854775807'));
  const shown = answer;
  const updated = await event(() => ada.client.patch(`${documents}/one`, { data: { secret: 'other words' } }));
  assert.deepEqual([updated?.type, updated?.data], ['documentUpdated', answer]);
  const last = answer;
  const deleted = await event(() => ada.client.delete(`${documents}/one`));
  assert.deepEqual([deleted?.type, deleted?.data], ['documentDeleted', last]);
  assert.notEqual(shown, last);

  const audit = (await rowsOf(target, 'audit_entries')).filter(({ resource }) =>
    String(resource).includes(documents.slice(1)),
  );
  const seen = audit.map(({ action, actor_kind, actor_id, data }) => [
    action,
    actor_kind,
    actor_id,
    JSON.parse(String(data)),
  ]);
  const by = (action: string, given: readonly string[], permissions: boolean) => [
    action,
    'user',
    ada.name,
    { attributes: given, permissions },
  ];
  assert.deepEqual(
    seen.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    [
      by('documentCreated', ['secret', 'n'], true),
      by('documentDeleted', [], false),
      by('documentUpdated', ['secret'], false),
    ],
  );
  for (const table of ['audit_entries', 'audit_subjects'])
    assert.doesNotMatch(JSON.stringify(await rowsOf(target, table)), /hush|other words/, table);
});

test('refused and failed requests leave nothing', async () => {
  const collection = await uniqueCollection();
  const { documents } = collection;
  for (const [documentId, n] of Object.entries({ one: 1, two: 2 }))
    await key.post(documents, { documentId, data: { n } });
  const refused: Record<string, () => Promise<unknown>> = {
    'no right': () => guest.client.post(documents, { documentId: 'x', data: {} }),
    'no right to change': () => guest.client.patch(`${documents}/one`, { data: { n: 9 } }),
    'no right to delete': () => guest.client.delete(`${documents}/one`),
    'a role of others': () =>
      ada.client.post(documents, { documentId: 'x', data: {}, permissions: ['read("guests")'] }),
    'a wrong value': () => ada.client.post(documents, { documentId: 'x', data: { n: 'x' } }),
    'an unknown attribute': () => ada.client.patch(`${documents}/one`, { data: { x: 1 } }),
    'a taken id': () => ada.client.post(documents, { documentId: 'one', data: { n: 5 } }),
    'a taken value': () => ada.client.post(documents, { documentId: 'x', data: { n: 1 } }),
    'a taken value later': () => ada.client.patch(`${documents}/two`, { data: { n: 1 } }),
    'no document': () => ada.client.patch(`${documents}/none`, { data: { n: 4 } }),
    'nothing to delete': () => ada.client.delete(`${documents}/none`),
    'nothing to change': () => ada.client.patch(`${documents}/one`, { data: { n: 1 } }),
    'GraphQL without right': () => graphqlCalls(collection).delete(guest.client, 'one'),
  };
  const state = async () => (await key.get(documents)).text;
  const before = await state();
  for (const [name, act] of Object.entries(refused)) {
    assert.deepEqual((await recordedBy(target, act)).recorded, nothing, name);
    assert.equal(await state(), before, name);
  }
});

test('of many writes at once those that fail leave nothing and the others everything', async () => {
  const { documents } = await uniqueCollection();
  for (const [documentId, n] of Object.entries({ one: -1, two: -2 }))
    await key.post(documents, { documentId, data: { n } });
  const writes = Array.from({ length: 60 }, (_, at) => {
    if (at % 4 === 1) return () => ada.client.post(documents, { documentId: `d${at}`, data: { n: at % 12 } });
    if (at % 4 === 2) return () => ada.client.patch(`${documents}/two`, { data: { n: -1 } });
    if (at % 4 === 3) return () => ada.client.post(documents, { documentId: 'one', data: { n: 1000 + at } });
    return () => ada.client.post(documents, { documentId: `d${at}`, data: { n: 100 + at } });
  });
  let statuses: number[] = [];
  const events = await added('events', async () => {
    statuses = (await Promise.all(writes.map((write) => write()))).map(({ status }) => status);
  });
  const created = statuses.filter((status) => status === 201).length;
  // Every fourth succeeds; of the next, one for each of three values; the others meet a taken value or id.
  assert.deepEqual([created, statuses.filter((status) => status === 409).length], [18, 42]);
  assert.equal(events.length, created);
  const stored = (
    await key.get(`${documents}?queries[]=${encodeURIComponent('{"method":"limit","values":[100]}')}`)
  ).expect(200);
  const ids = (rows: readonly unknown[]) => rows.map((row) => String((row as { $id: unknown }).$id)).sort();
  const announced = ids(events.map(({ data }) => JSON.parse(String(data))));
  assert.deepEqual(
    announced,
    ids(stored.list('documents')).filter((id) => id.startsWith('d')),
  );
  const audit = (await rowsOf(target, 'audit_entries')).filter(({ resource }) =>
    String(resource).startsWith(documents.slice(1)),
  );
  assert.equal(audit.length, created + 2);
});

test('an index that goes with its attribute leaves an audit row of its own', async () => {
  const { attributes, indexes } = await aCollection({ attributes: { n: { type: 'integer' }, m: { type: 'integer' } } });
  for (const [name, of] of Object.entries({ alone: ['n'], both: ['m', 'n'], other: ['m'] }))
    (await key.post(indexes, { key: name, type: 'key', attributes: of })).expect(202);
  const { recorded } = await recordedBy(target, async () => (await key.delete(`${attributes}/n`)).expect(204));
  assert.deepEqual(recorded, { ...nothing, audit: ['attributeDeleted', 'indexDeleted', 'indexDeleted'] });
});

test('a change of a schema is audited and not announced', async () => {
  const { recorded, value } = await recordedBy(target, () => aCollection());
  assert.deepEqual(recorded, { ...nothing, audit: ['collectionCreated'] });
  const add = () => addAttribute(key, value.path, 'a', { type: 'integer' });
  assert.deepEqual((await recordedBy(target, add)).recorded, { ...nothing, audit: ['attributeCreated'] });
  const again = () => key.post(`${value.attributes}/integer`, { key: 'a', required: false });
  assert.deepEqual((await recordedBy(target, again)).recorded, nothing);
});
