// Many writers of the same links, from both sides, over two processes: none waits for another that waits for it, and both sides agree afterwards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { deadlocksOf } from './deadlocks.js';
import { aBackend, type TestCollection } from './setup.js';

const here = await startAppliance();
const there = await here.startSibling();
const { key, collection } = await aBackend(here);
const { secret } = await aServerKey(here);
const clients = [createClient(here, { key: secret }), createClient(there, { key: secret })];
const [parentIds, childIds] = [
  ['p0', 'p1', 'p2'],
  ['c0', 'c1', 'c2', 'c3', 'c4'],
];
const rounds = 4;

const deadlocks = () => deadlocksOf(here);

async function linked(of: TestCollection, id: string, name: string): Promise<string[]> {
  const select = encodeURIComponent(JSON.stringify({ method: 'select', values: [`${name}.$id`] }));
  const value: unknown = (await key.get(`${of.documents}/${id}?queries[0]=${select}`)).expect(200).body[name];
  const ids = (Array.isArray(value) ? value : value === null ? [] : [value]) as { readonly $id: string }[];
  return ids.map(({ $id }) => $id).sort();
}

/** Each round changes everything of one side and, at the same time, of the other. */
async function race(
  parents: TestCollection,
  children: TestCollection,
  { toOne, fromOne }: { readonly toOne: boolean; readonly fromOne: boolean },
): Promise<number[]> {
  const some = (ids: readonly string[], round: number, at: number) =>
    ids.filter((_, index) => (index * 7 + round * 3 + at) % 2 === 0).sort(() => (at % 2 === 0 ? 1 : -1));
  const statuses: number[] = [];
  const change = async (of: TestCollection, id: string, data: object, at: number) => {
    const answer = await clients[at % 2]?.patch(`${of.documents}/${id}`, { data: { ...data, n: at } });
    statuses.push(answer?.status ?? 0);
  };
  for (let round = 0; round < rounds; round++) {
    const jobs: Promise<void>[] = [];
    for (const [at, id] of parentIds.entries()) {
      const kids = some(childIds, round, at);
      jobs.push(change(parents, id, { kids: toOne ? (kids[0] ?? null) : kids }, at + round));
    }
    for (const [at, id] of childIds.entries()) {
      const moms = some(parentIds, round, at);
      jobs.push(change(children, id, { moms: fromOne ? (moms[0] ?? null) : moms }, at + round));
    }
    await Promise.all(jobs);
  }
  return statuses;
}

const types = [
  ['oneToOne', true, true],
  ['oneToMany', false, true],
  ['manyToOne', true, false],
  ['manyToMany', false, false],
] as const;

for (const isOwn of [false, true])
  test(`writers from both sides of each kind of relationship${isOwn ? ' of a collection with itself' : ''}`, async () => {
    for (const [type, toOne, fromOne] of types) {
      const attributes = { n: { type: 'integer' } };
      const parents = await collection({ attributes });
      const children = isOwn ? parents : await collection({ attributes });
      const both = { type, twoWay: true, key: 'kids', twoWayKey: 'moms' };
      (await key.post(`${parents.attributes}/relationship`, { relatedCollectionId: children.id, ...both })).expect(202);
      for (const id of parentIds) (await key.post(parents.documents, { documentId: id, data: {} })).expect(201);
      for (const id of childIds) (await key.post(children.documents, { documentId: id, data: {} })).expect(201);

      const before = await deadlocks();
      const statuses = await race(parents, children, { toOne, fromOne });
      assert.equal((await deadlocks()) - before, 0, type);
      // A document that is related to another one already is refused where each has one at most.
      const expected = toOne && fromOne ? [200, 409] : [200];
      assert.deepEqual(
        [...new Set(statuses)].filter((status) => !expected.includes(status)),
        [],
        type,
      );

      const pairs: string[][] = [[], []];
      for (const id of parentIds) for (const one of await linked(parents, id, 'kids')) pairs[0]?.push(`${id} ${one}`);
      for (const id of childIds) {
        const moms = await linked(children, id, 'moms');
        for (const one of moms) pairs[1]?.push(`${one} ${id}`);
        // What the document shows is what it is linked to.
        if (fromOne) assert.equal((await key.get(`${children.documents}/${id}`)).body.moms, moms[0] ?? null, type);
      }
      if (toOne)
        for (const id of parentIds) {
          const shown = (await key.get(`${parents.documents}/${id}`)).body.kids;
          assert.equal(shown, (await linked(parents, id, 'kids'))[0] ?? null, type);
        }
      assert.deepEqual(pairs[0]?.sort(), pairs[1]?.sort(), type);
    }
  });

test('documents are deleted beside writers of their links, without deadlocks', async () => {
  const attributes = { n: { type: 'integer' } };
  const [parents, children] = [await collection({ attributes }), await collection({ attributes })];
  const both = { type: 'oneToMany', twoWay: true, key: 'kids', twoWayKey: 'moms', onDelete: 'setNull' };
  (await key.post(`${parents.attributes}/relationship`, { relatedCollectionId: children.id, ...both })).expect(202);
  for (const id of childIds) (await key.post(children.documents, { documentId: id, data: {} })).expect(201);
  const before = await deadlocks();
  for (let round = 0; round < rounds; round++) {
    (await key.put(`${parents.documents}/p`, { data: { kids: childIds } })).expect(200);
    const answers = await Promise.all([
      clients[0]?.delete(`${parents.documents}/p`),
      ...childIds.map((id, at) =>
        clients[at % 2]?.patch(`${children.documents}/${id}`, { data: { moms: at % 2 === 0 ? null : 'p', n: round } }),
      ),
    ]);
    assert.ok(
      answers.every((answer) => [200, 204, 400].includes(answer?.status ?? 0)),
      answers.map((answer) => answer?.status).join(),
    );
    for (const id of childIds) assert.deepEqual(await linked(children, id, 'moms'), []);
    for (const id of childIds) assert.equal((await key.get(`${children.documents}/${id}`)).body.moms, null);
  }
  assert.equal((await deadlocks()) - before, 0);
});

test('documents are deleted with those related to them beside writers of both, without deadlocks', async () => {
  const attributes = { n: { type: 'integer' } };
  // Those that are deleted along come first in the order in which documents are locked.
  const [children, parents] = [await collection({ attributes }), await collection({ attributes })];
  const both = { type: 'manyToMany', twoWay: true, key: 'kids', twoWayKey: 'moms', onDelete: 'cascade' };
  (await key.post(`${parents.attributes}/relationship`, { relatedCollectionId: children.id, ...both })).expect(202);
  const before = await deadlocks();
  const statuses = new Set<number | undefined>();
  const caller = async (at: number) => {
    for (let count = 0; count < 12; count++) {
      const id = parentIds[(at + count) % parentIds.length];
      const parent = `${parents.documents}/${id}`;
      const answer = await (at % 3 === 0
        ? clients[at % 2]?.put(parent, { data: { kids: childIds.map(($id) => ({ $id, n: count })) } })
        : at % 3 === 1
          ? clients[at % 2]?.put(`${children.documents}/${childIds[count % childIds.length]}`, {
              data: { moms: parentIds.map(($id) => ({ $id, n: count })) },
            })
          : clients[at % 2]?.delete(parent));
      statuses.add(answer?.status);
    }
  };
  await Promise.all(Array.from({ length: 9 }, (_, at) => caller(at)));
  assert.deepEqual(
    [...statuses].filter((status) => status === undefined || ![200, 204, 404].includes(status)),
    [],
  );
  assert.equal((await deadlocks()) - before, 0);
});

test('transactions that make and change the same documents in other orders, related ones too, do not wait for each other', async () => {
  const attributes = { n: { type: 'integer', default: 0 } };
  const [parents, children] = [await collection({ attributes }), await collection({ attributes })];
  const others = await collection({ attributes });
  const both = { type: 'manyToMany', twoWay: true, key: 'kids', twoWayKey: 'moms' };
  (await key.post(`${parents.attributes}/relationship`, { relatedCollectionId: children.id, ...both })).expect(202);
  for (const id of parentIds) (await key.post(parents.documents, { documentId: id, data: {} })).expect(201);
  for (const id of childIds) (await key.post(children.documents, { documentId: id, data: {} })).expect(201);
  const place = ({ documents }: TestCollection) => {
    const [, , databaseId, , collectionId] = documents.split('/');
    return { databaseId, collectionId };
  };
  const [ofParents, ofChildren, ofOthers] = [place(parents), place(children), place(others)];
  const changes = (round: number, at: number) => {
    const ordered = <T>(list: T[]) => (at % 2 === 0 ? list : list.reverse());
    const [mom, kid] = [parentIds[(round + at) % 3], childIds[(round + at) % 5]];
    const all = [
      { ...ofParents, action: 'update', documentId: 'p0', data: { n: at, kids: at % 2 === 0 ? childIds : [kid] } },
      { ...ofChildren, action: 'increment', documentId: 'c0', data: { attribute: 'n' } },
      { ...ofChildren, action: 'update', documentId: 'c1', data: { n: at, moms: at % 3 === 0 ? parentIds : [mom] } },
      { ...ofParents, action: 'increment', documentId: 'p1', data: { attribute: 'n' } },
      { ...ofParents, action: 'update', documentId: 'p2', data: { n: at, kids: [] } },
      { ...ofOthers, action: 'bulkUpsert', data: ordered([0, 1, round + 2].map((id) => ({ $id: `o${id}`, n: at }))) },
      { ...ofParents, action: 'create', documentId: `new-${round}-a`, data: { kids: [{ $id: 'c4', moms: ['p0'] }] } },
      { ...ofParents, action: 'upsert', documentId: `new-${round}-b`, data: { kids: [{ $id: 'c2', n: at }] } },
    ];
    return ordered(all);
  };
  const before = await deadlocks();
  let committed = 0;
  for (let round = 0; round < rounds; round++) {
    const statuses = await Promise.all(
      [0, 1, 2, 3].map(async (at) => {
        const client = clients[at % 2];
        const id = (await client?.post('/databases/transactions', {}))?.string('$id');
        const path = `/databases/transactions/${id}`;
        const staged = await client?.post(`${path}/operations`, { operations: changes(round, at) });
        if (staged?.status !== 201) return staged?.status;
        return (await client?.patch(path, { commit: true }))?.status;
      }),
    );
    assert.ok(
      statuses.every((status) => status === 200 || status === 409),
      statuses.join(),
    );
    committed += statuses.filter((status) => status === 200).length;
  }
  assert.equal((await deadlocks()) - before, 0);
  assert.ok(committed >= rounds, `${committed} transactions were committed`);
  assert.equal((await key.get(`${parents.documents}/p1`)).body.n, committed);
  assert.equal((await key.get(`${children.documents}/c0`)).body.n, committed);
  for (const id of childIds)
    for (const mom of await linked(children, id, 'moms'))
      assert.ok((await linked(parents, mom, 'kids')).includes(id), `${mom} shows ${id}`);
});

test('documents that are created at once with the same new ones below them are all created', async () => {
  const attributes = { n: { type: 'integer' } };
  const [parents, children] = [await collection({ attributes }), await collection({ attributes })];
  const both = { type: 'manyToMany', twoWay: true, key: 'kids', twoWayKey: 'moms' };
  (await key.post(`${parents.attributes}/relationship`, { relatedCollectionId: children.id, ...both })).expect(202);
  const before = await deadlocks();
  for (let round = 0; round < rounds; round++) {
    const ids = [0, 1].map((at) => `tag-${round}-${at}`);
    const answers = await Promise.all([
      ...[0, 1, 2, 3, 4, 5].map((at) => {
        const below = ids.map((id) => ({ $id: id, n: at }));
        const data = { kids: at % 2 === 0 ? below : below.reverse() };
        return clients[at % 2]?.post(parents.documents, { documentId: `own-${round}-${at}`, data });
      }),
      // From the other side, and alone.
      clients[0]?.put(`${children.documents}/${ids[1]}`, { data: { moms: [{ $id: `own-${round}-6`, n: 6 }] } }),
      clients[1]?.put(`${children.documents}/${ids[0]}`, { data: { n: 7 } }),
    ]);
    assert.deepEqual(
      answers.map((answer) => answer?.status),
      [201, 201, 201, 201, 201, 201, 200, 200],
    );
    // What the two puts replace of the links depends on who came first.
    for (const at of [0, 1, 2, 3, 4, 5])
      assert.ok((await linked(parents, `own-${round}-${at}`, 'kids')).includes(ids[0] ?? ''));
    const again = await clients[0]?.post(parents.documents, { documentId: `own-${round}-0`, data: { kids: [] } });
    assert.equal(again?.body.type, 'document_already_exists');
  }
  assert.equal((await deadlocks()) - before, 0);
});
