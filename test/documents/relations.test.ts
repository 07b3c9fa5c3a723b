// Relationships between documents: their attributes, writes from both sides, and what a deletion does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operator } from 'node-appwrite';
import { relationLimits } from '#src/contract/limits.js';
import { startAppliance } from '../harness/appliance.js';
import { recordedBy } from '../harness/database.js';
import { aBackend, type TestCollection } from './setup.js';

const target = await startAppliance();
const backend = await aBackend(target);
const { key } = backend;
const text = { type: 'string', size: 50 };

interface Made {
  readonly parents: TestCollection;
  readonly children: TestCollection;
}

/** Two collections and a relationship `kids`, with `mom` at the other side where it has two ways. */
async function related(type: string, more: object = {}): Promise<Made> {
  const parents = await backend.collection({ attributes: { name: text } });
  const children = await backend.collection({ attributes: { name: text } });
  const body = { relatedCollectionId: children.id, type, twoWay: true, key: 'kids', twoWayKey: 'mom', ...more };
  (await key.post(`${parents.attributes}/relationship`, body)).expect(202);
  return { parents, children };
}

const create = async (of: TestCollection, documentId: string, data: object = {}) =>
  (await key.post(of.documents, { documentId, data })).expect(201).body;
const change = (of: TestCollection, id: string, data: object) => key.patch(`${of.documents}/${id}`, { data });
const shown = async (of: TestCollection, id: string) => (await key.get(`${of.documents}/${id}`)).expect(200).body;
const remove = (of: TestCollection, id: string) => key.delete(`${of.documents}/${id}`);
/** What a relationship shows of a document: its id, or the ids of many. */
const has = async (of: TestCollection, id: string, name: string): Promise<unknown> => {
  const select = encodeURIComponent(JSON.stringify({ method: 'select', values: [`${name}.$id`] }));
  const value = (await key.get(`${of.documents}/${id}?queries[0]=${select}`)).expect(200).body[name];
  const idOf = (one: unknown) => (one as { $id: string }).$id;
  return Array.isArray(value) ? value.map(idOf) : value === null ? null : idOf(value);
};

test('a relationship is an attribute in Appwrite’s form, on both sides if it is two-way', async () => {
  const { parents, children } = await related('oneToMany', { onDelete: 'cascade' });
  const [, one] = (await key.get(parents.path)).expect(200).body.attributes as Record<string, unknown>[];
  const common = { type: 'relationship', status: 'available', error: '', required: false, array: false, default: null };
  const { $createdAt, $updatedAt, ...rest } = one ?? {};
  assert.ok($createdAt === $updatedAt);
  const relation = { relationType: 'oneToMany', twoWay: true, onDelete: 'cascade' };
  assert.deepEqual(rest, {
    ...common,
    ...relation,
    key: 'kids',
    relatedCollection: children.id,
    twoWayKey: 'mom',
    side: 'parent',
  });
  const other = (await key.get(`${children.attributes}/mom`)).expect(200).body;
  assert.deepEqual([other.side, other.twoWayKey, other.relatedCollection], ['child', 'kids', parents.id]);

  const changed = await key.patch(`${children.attributes}/relationship/mom`, { onDelete: 'setNull', newKey: 'mother' });
  assert.equal(changed.expect(200).body.key, 'mother');
  const again = (await key.get(`${parents.attributes}/kids`)).expect(200).body;
  assert.deepEqual([again.twoWayKey, again.onDelete], ['mother', 'setNull']);
  await create(parents, 'p');
  await create(children, 'c', { mother: 'p' });
  assert.equal((await shown(children, 'c')).mother, 'p');

  (await key.delete(`${parents.attributes}/kids`)).expect(204);
  assert.deepEqual(
    Object.keys(await shown(children, 'c')).filter((name) => !name.startsWith('$')),
    ['name'],
  );
  (await key.get(`${children.attributes}/mother`)).refused(404, 'attribute_not_found');
});

test('invalid relationships are refused', async () => {
  const { parents, children } = await related('oneToOne');
  const add = (body: object) =>
    key.post(`${parents.attributes}/relationship`, { relatedCollectionId: children.id, type: 'oneToOne', ...body });
  (await add({ key: 'kids' })).refused(409, 'attribute_already_exists');
  (await add({ key: 'x', twoWay: true, twoWayKey: 'mom' })).refused(409, 'attribute_already_exists');
  (await add({ key: 'x', relatedCollectionId: 'none' })).refused(404, 'collection_not_found');
  (await add({ key: 'x', type: 'some' })).refused(400, 'general_argument_invalid');
  (await add({ key: 'x', onDelete: 'some' })).refused(400, 'general_argument_invalid');
  (await key.post(`${parents.attributes}/string`, { key: 'kids', size: 5, required: false })).refused(
    409,
    'attribute_already_exists',
  );
  (await key.patch(`${parents.attributes}/string/kids`, { size: 5, required: false, default: null })).refused(
    400,
    'attribute_type_invalid',
  );
  (await key.post(parents.indexes, { key: 'i', type: 'key', attributes: ['kids'] })).refused(400, 'index_invalid');
  const own = { relatedCollectionId: parents.id, type: 'manyToOne', twoWay: true };
  (await add({ ...own, key: 'y', twoWayKey: 'y' })).refused(409, 'attribute_already_exists');
  (await add({ ...own, key: 'boss', twoWayKey: 'staff' })).expect(202);
  await create(parents, 'a');
  await create(parents, 'b', { boss: 'a' });
  assert.deepEqual(await has(parents, 'a', 'staff'), ['b']);
});

const cases: readonly [string, boolean, boolean][] = [
  ['oneToOne', true, true],
  ['oneToMany', false, true],
  ['manyToOne', true, false],
  ['manyToMany', false, false],
];
for (const [type, toOne, fromOne] of cases) {
  test(`${type}: both sides agree, whichever is written`, async () => {
    const { parents, children } = await related(type);
    for (const id of ['c1', 'c2']) await create(children, id);
    const kids = (...ids: string[]) => (toOne ? (ids[0] ?? null) : ids);
    const mom = (...ids: string[]) => (fromOne ? (ids[0] ?? null) : ids);
    await create(parents, 'p1', { kids: kids('c1') });
    await create(parents, 'p2');
    assert.deepEqual([await has(parents, 'p1', 'kids'), await has(children, 'c1', 'mom')], [kids('c1'), mom('p1')]);
    assert.equal('kids' in (await shown(parents, 'p1')), toOne);
    assert.equal('mom' in (await shown(children, 'c1')), fromOne);

    (await change(parents, 'p1', { kids: kids('c2') })).expect(200);
    assert.deepEqual([await has(children, 'c1', 'mom'), await has(children, 'c2', 'mom')], [mom(), mom('p1')]);
    if (fromOne) assert.equal((await shown(children, 'c1')).mom, null);

    (await change(children, 'c2', { mom: mom() })).expect(200);
    assert.deepEqual(await has(parents, 'p1', 'kids'), kids());
    (await change(children, 'c2', { mom: mom('p2') })).expect(200);
    assert.deepEqual(await has(parents, 'p2', 'kids'), kids('c2'));
    if (toOne) assert.equal((await shown(parents, 'p2')).kids, 'c2');

    const both = await change(parents, 'p1', { kids: kids('c2') });
    if (toOne && fromOne) both.refused(409, 'document_unique_constraint_violation');
    else both.expect(200);
    assert.deepEqual(await has(parents, 'p1', 'kids'), toOne && fromOne ? kids() : kids('c2'));
    assert.deepEqual(await has(parents, 'p2', 'kids'), fromOne && !toOne ? kids() : kids('c2'));

    (await change(parents, 'p1', { kids: null })).expect(200);
    assert.deepEqual(await has(parents, 'p1', 'kids'), kids());
    (await remove(children, 'c1')).expect(204);
    (await remove(children, 'c2')).status;
  });
}

test('values that are no relationship', async () => {
  const { parents, children } = await related('oneToMany');
  await create(parents, 'p');
  await create(children, 'c');
  const wrong: unknown[] = ['c', 5, ['c', 'c'], ['none'], [5], [null], [['c']], ['a b'], [{ $id: 'a b', name: 'x' }]];
  for (const kids of wrong)
    (await change(parents, 'p', { kids: kids as never })).refused(400, 'relationship_value_invalid');
  for (const mom of [['p'], 7, 'none', true])
    (await change(children, 'c', { mom: mom as never })).refused(400, 'relationship_value_invalid');
  (await change(parents, 'p', { kids: [{ other: 1 }] })).refused(400, 'document_invalid_structure');
  (await change(parents, 'p', { kids: Array.from({ length: 1001 }, (_, at) => `c${at}`) })).refused(
    400,
    'relationship_value_invalid',
  );
  assert.deepEqual(await has(parents, 'p', 'kids'), []);
});

test('nested documents are created and changed, each with its event and its audit row', async () => {
  const { parents, children } = await related('oneToMany');
  const { recorded } = await recordedBy(target, async () => {
    await create(parents, 'p', { name: 'P', kids: [{ $id: 'c1', name: 'one' }, { name: 'two' }] });
  });
  const three = ['documentCreated', 'documentCreated', 'documentCreated'];
  assert.deepEqual(recorded, { audit: three, events: three, messages: [] });
  assert.equal((await shown(children, 'c1')).mom, 'p');
  const { recorded: changes } = await recordedBy(target, async () => {
    (await change(parents, 'p', { kids: [{ $id: 'c1', name: 'uno' }] })).expect(200);
  });
  assert.deepEqual(changes.events, ['documentUpdated', 'documentUpdated']);
  assert.deepEqual([await has(parents, 'p', 'kids'), (await shown(children, 'c1')).name], [['c1'], 'uno']);
  assert.equal((await key.get(children.documents)).expect(200).body.total, 2);
  const { recorded: none } = await recordedBy(target, async () => {
    (await change(parents, 'p', { kids: [{ $id: 'c1' }] })).expect(200);
  });
  assert.deepEqual(none, { audit: [], events: [], messages: [] });
  // A document below refuses what the request is to write as a whole.
  (await key.post(parents.documents, { documentId: 'q', data: { kids: [{ $id: 'c9', name: 5 }] } })).refused(
    400,
    'document_invalid_structure',
  );
  (await key.get(`${parents.documents}/q`)).refused(404, 'document_not_found');
});

test('an operator in a named nested document starts from the default if the document is new, also in a transaction', async () => {
  const attributes = { name: text, n: { type: 'integer', default: 5 } };
  const parents = await backend.collection({ attributes });
  const children = await backend.collection({ attributes });
  const relationship = { relatedCollectionId: children.id, type: 'oneToMany', key: 'kids' };
  (await key.post(`${parents.attributes}/relationship`, relationship)).expect(202);
  await create(parents, 'p');
  const kid = { $id: 'k', name: Operator.stringConcat('x'), n: Operator.increment(1) };
  for (const expected of [
    ['x', 6],
    ['xx', 7],
  ]) {
    (await change(parents, 'p', { kids: [kid] })).expect(200);
    const { name, n } = await shown(children, 'k');
    assert.deepEqual([name, n], expected);
  }
  // What was staged as a change of a document that is then gone is its creation, as for every document that is named.
  const transactionId = (await key.post('/databases/transactions', {})).expect(201).string('$id');
  (await key.patch(`${parents.documents}/p`, { data: { kids: [kid] }, transactionId })).expect(200);
  (await remove(children, 'k')).expect(204);
  (await key.patch(`/databases/transactions/${transactionId}`, { commit: true })).expect(200);
  const { name, n } = await shown(children, 'k');
  assert.deepEqual([name, n], ['x', 6]);
  // One without a name is new, and its texts are as they are.
  const plain = await create(parents, 'q', { kids: [{ name: Operator.toggle() }] });
  const [only = ''] = (await has(parents, String(plain.$id), 'kids')) as string[];
  assert.equal((await shown(children, only)).name, Operator.toggle());
});

test('the ids of a value and the relationships that a read follows are bounded', async () => {
  const people = await backend.collection({ attributes: { name: text } });
  for (const [one, other] of [
    ['knows', 'known'],
    ['likes', 'liked'],
  ]) {
    const both = { relatedCollectionId: people.id, type: 'manyToMany', twoWay: true, key: one, twoWayKey: other };
    (await key.post(`${people.attributes}/relationship`, both)).expect(202);
  }
  await create(people, 'p');
  const ids = (count: number) => Array.from({ length: count }, (_, at) => `none${at}`);
  const refusal = await change(people, 'p', { knows: ids(relationLimits.linked + 1) });
  assert.match(String(refusal.refused(400, 'relationship_value_invalid').body.message), /at most 1000 documents/);
  const within = await change(people, 'p', { knows: ids(relationLimits.linked) });
  assert.match(String(within.refused(400, 'relationship_value_invalid').body.message), /no document "none0"/);
  const names = ['knows', 'known', 'likes', 'liked'];
  const paths = names.flatMap((name) => names.map((next) => `${name}.${next}`));
  const populate = (some: readonly string[]) => some.map((path, at) => `populate[${at}]=${path}`).join('&');
  assert.equal(names.length + paths.length, relationLimits.followed);
  (await key.get(`${people.documents}/p?${populate(paths)}`)).expect(200);
  const beyond = [...paths, 'knows.known.knows'];
  (await key.get(`${people.documents}/p?${populate(beyond)}`)).refused(400, 'general_query_invalid');
  (await key.get(`${people.documents}?${populate(beyond)}`)).refused(400, 'general_query_invalid');
});

test('levels and numbers of nested documents are bounded', async () => {
  const people = await backend.collection({ attributes: { name: text } });
  const body = { relatedCollectionId: people.id, type: 'oneToMany', twoWay: true, key: 'kids', twoWayKey: 'mom' };
  (await key.post(`${people.attributes}/relationship`, body)).expect(202);
  const nest = (levels: number): object => (levels === 0 ? { name: 'x' } : { name: 'x', kids: [nest(levels - 1)] });
  await create(people, 'three', nest(3));
  (await key.post(people.documents, { documentId: 'four', data: nest(4) })).refused(400, 'relationship_value_invalid');
  const many = (count: number) => ({ kids: Array.from({ length: count }, () => ({ name: 'x' })) });
  await create(people, 'hundred', many(100));
  (await key.post(people.documents, { documentId: 'more', data: many(101) })).refused(
    400,
    'relationship_value_invalid',
  );
  assert.equal((await key.get(people.documents)).expect(200).body.total, 4 + 101);
});

for (const [type] of cases) {
  test(`${type}: restrict, set null and cascade`, async () => {
    const decider = type === 'manyToOne' ? 'child' : 'parent';
    const link = async (onDelete: string) => {
      const { parents, children } = await related(type, { onDelete });
      await create(children, 'c');
      await create(parents, 'p', { kids: ['oneToOne', 'manyToOne'].includes(type) ? 'c' : ['c'] });
      const [one, other] = decider === 'parent' ? [parents, children] : [children, parents];
      const [id, otherId, name] = decider === 'parent' ? ['p', 'c', 'mom'] : ['c', 'p', 'kids'];
      return { one, other, id, otherId, name };
    };
    const restricted = await link('restrict');
    (await remove(restricted.one, restricted.id)).refused(403, 'document_delete_restricted');
    // In a transaction too, when it is staged and when it is committed.
    const transaction = `/databases/transactions/${(await key.post('/databases/transactions', {})).string('$id')}`;
    const place = { databaseId: backend.databaseId, collectionId: restricted.one.id, documentId: restricted.id };
    const staged = () => key.post(`${transaction}/operations`, { operations: [{ ...place, action: 'delete' }] });
    (await staged()).refused(403, 'document_delete_restricted');
    (await remove(restricted.other, restricted.otherId)).expect(204);
    (await staged()).expect(201);
    const value = type === 'manyToMany' ? [restricted.id] : restricted.id;
    await create(restricted.other, restricted.otherId, { [restricted.name]: value });
    const committed = await key.patch(transaction, { commit: true });
    // Of one to one, both documents have changed.
    if (type === 'oneToOne') committed.refused(409, 'transaction_conflict');
    else committed.refused(403, 'document_delete_restricted');
    (await remove(restricted.other, restricted.otherId)).expect(204);
    (await remove(restricted.one, restricted.id)).expect(204);

    const unlinked = await link('setNull');
    (await remove(unlinked.one, unlinked.id)).expect(204);
    const left = await has(unlinked.other, unlinked.otherId, unlinked.name);
    assert.ok(left === null || (Array.isArray(left) && left.length === 0), String(left));

    const cascaded = await link('cascade');
    const { recorded } = await recordedBy(target, async () => {
      (await remove(cascaded.one, cascaded.id)).expect(204);
    });
    const two = ['documentDeleted', 'documentDeleted'];
    assert.deepEqual(recorded, { audit: two, events: two, messages: [] });
    (await key.get(`${cascaded.other.documents}/${cascaded.otherId}`)).refused(404, 'document_not_found');
  });
}

test('a cascade ends in cycles, and is refused beyond a thousand documents', async () => {
  const people = await backend.collection({ attributes: { name: text } });
  const body = { relatedCollectionId: people.id, type: 'manyToMany', key: 'likes', onDelete: 'cascade' };
  (await key.post(`${people.attributes}/relationship`, body)).expect(202);
  for (const id of ['a', 'b', 'c']) await create(people, id);
  for (const [id, ...likes] of [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'a', 'b'],
  ])
    (await change(people, id ?? '', { likes })).expect(200);
  (await remove(people, 'a')).expect(204);
  assert.equal((await key.get(people.documents)).expect(200).body.total, 0);
  const hundred = (at: number) => Array.from({ length: 100 }, (_, one) => ({ $id: `n${at}-${one}`, name: 'x' }));
  await create(people, 'top');
  let likes: readonly string[] = [];
  for (let at = 0; at < 10; at++) {
    (await change(people, 'top', { likes: [...likes, ...hundred(at)] })).expect(200);
    likes = [...likes, ...hundred(at).map(({ $id }) => $id)];
  }
  (await remove(people, 'top')).refused(400, 'general_bad_request');
  (await change(people, 'top', { likes: likes.slice(1) })).expect(200);
  const { recorded } = await recordedBy(target, async () => {
    (await remove(people, 'top')).expect(204);
  });
  assert.equal(recorded.events.length, 1000);
  assert.equal((await key.get(people.documents)).expect(200).body.total, 1);
});

test('changes of many documents at once are refused if there are relationships', async () => {
  const { parents, children } = await related('oneToMany', { twoWay: false });
  for (const { documents } of [parents, children]) {
    (await key.post(documents, { documents: [{ name: 'x' }] })).refused(400, 'general_bad_request');
    (await key.put(documents, { documents: [{ name: 'x' }] })).refused(400, 'general_bad_request');
    (await key.patch(documents, { data: { name: 'x' } })).refused(400, 'general_bad_request');
    (await key.delete(documents)).refused(400, 'general_bad_request');
  }
});

test('Idempotency-Key and If-Match hold for nested writes', async () => {
  const { parents, children } = await related('oneToMany');
  const once = () =>
    key.post(
      parents.documents,
      { documentId: 'unique()', data: { kids: [{ name: 'x' }] } },
      { 'Idempotency-Key': `once-${parents.id}` },
    );
  const [first, second] = [await once(), await once()];
  assert.equal(first.expect(201).text, second.expect(201).text);
  assert.equal((await key.get(children.documents)).expect(200).body.total, 1);
  const { $id } = first.body;
  const stale = first.headers.get('etag') ?? '';
  (await change(parents, String($id), { kids: [] })).expect(200);
  (await key.patch(`${parents.documents}/${$id}`, { data: { kids: [{ name: 'y' }] } }, { 'If-Match': stale })).refused(
    412,
    'general_precondition_failed',
  );
  assert.equal((await key.get(children.documents)).expect(200).body.total, 1);
});

test('parallel writes keep one-to-one and one-to-many intact', async () => {
  for (const type of ['oneToOne', 'oneToMany']) {
    const { parents, children } = await related(type);
    await create(children, 'c');
    const ids = Array.from({ length: 12 }, (_, at) => `p${at}`);
    for (const id of ids) await create(parents, id);
    const kids = type === 'oneToOne' ? 'c' : ['c'];
    const answers = await Promise.all(ids.map((id) => change(parents, id, { kids })));
    const done = answers.filter(({ status }) => status === 200).length;
    assert.ok(
      answers.every(({ status }) => [200, 409].includes(status)),
      answers.map(({ status }) => status).join(),
    );
    assert.equal(type === 'oneToOne' ? done : 1, 1);
    const owners: string[] = [];
    for (const id of ids) if (![null, ''].includes(String((await has(parents, id, 'kids')) ?? ''))) owners.push(id);
    assert.deepEqual(owners, [(await shown(children, 'c')).mom]);
  }
});

test('relationships of a collection are removed with it', async () => {
  const { parents, children } = await related('manyToOne');
  await create(children, 'c');
  await create(parents, 'p', { kids: 'c' });
  (await key.delete(children.path)).expect(204);
  assert.deepEqual(
    ((await key.get(parents.path)).expect(200).body.attributes as { key: string }[]).map((one) => one.key),
    ['name'],
  );
  assert.ok(!('kids' in (await shown(parents, 'p'))));
  (await remove(parents, 'p')).expect(204);
});

test('an object with nothing but its id is linked, and one with permissions changes them', async () => {
  const { parents, children } = await related('oneToOne');
  await create(children, 'c', { name: 'C' });
  const permissionsOf = async () => (await shown(children, 'c')).$permissions;
  const before = await permissionsOf();
  const { value, recorded } = await recordedBy(target, () => create(parents, 'p', { kids: { $id: 'c' } }));
  assert.equal(value.$id, 'p');
  assert.deepEqual([await permissionsOf(), recorded.events.length], [before, 1]);
  (await change(parents, 'p', { kids: { $id: 'c', $permissions: ['read("any")'] } })).expect(200);
  assert.deepEqual(await permissionsOf(), ['read("any")']);
  assert.equal((await shown(children, 'c')).name, 'C');
  (await change(parents, 'p', { kids: { $id: 'c', $permissions: [] } })).expect(200);
  assert.deepEqual(await permissionsOf(), []);
  assert.equal(await has(parents, 'p', 'kids'), 'c');
});

test('an operator in a document that is written below another one keeps within the bounds of its attribute', async () => {
  const { parents, children } = await related('oneToMany');
  (await key.post(`${children.attributes}/integer`, { key: 'n', required: false, max: 5 })).expect(202);
  await create(children, 'c', { n: 5 });
  const kids = [{ $id: 'c', n: Operator.increment(1) }];
  (await key.post(parents.documents, { documentId: 'p', data: { kids } })).refused(400, 'attribute_limit_exceeded');
  await create(parents, 'p', { kids: [{ $id: 'c', n: Operator.increment(-1) }] });
  assert.equal((await shown(children, 'c')).n, 4);
});
