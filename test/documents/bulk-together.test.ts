// Requests and transactions that change the same documents at once, each in another order: none waits for another that waits for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { deadlocksOf } from './deadlocks.js';
import { aBackend } from './setup.js';

const here = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const there = await here.startSibling();
const { key, collection } = await aBackend(here);
const { secret } = await aServerKey(here);
const clients = [here, there].map((target) => createClient(target, { key: secret }));
const clientOf = (at: number) => clients[at % 2] ?? key;
const count = 20;
const rounds = 3;
const attributes = { n: { type: 'integer', default: 0 }, place: { type: 'integer' } };
const query = (method: string, attribute?: string, ...values: unknown[]) =>
  JSON.stringify({ method, attribute, values });
const increment = JSON.stringify({ method: 'increment', values: [1] });
const idsOf = (name: string) => Array.from({ length: count }, (_, at) => `${name}-${String(at).padStart(2, '0')}`);
const ordered = <T>(list: readonly T[], at: number): T[] => (at % 2 === 0 ? [...list] : [...list].reverse());

/** Some callers at once, in rounds, all of whom must be answered one of the statuses, without a deadlock. */
async function together(
  statuses: readonly number[],
  act: (round: number, at: number) => Promise<{ readonly status: number }>,
): Promise<number[]> {
  const before = await deadlocksOf(here);
  const all: number[] = [];
  for (let round = 0; round < rounds; round++)
    all.push(...(await Promise.all([0, 1, 2, 3].map((at) => act(round, at)))).map(({ status }) => status));
  assert.deepEqual(
    all.filter((status) => !statuses.includes(status)),
    [],
  );
  assert.equal((await deadlocksOf(here)) - before, 0);
  return all;
}

test('upserts of the same documents in opposite orders, whether they are there or not', async () => {
  const { documents } = await collection({ attributes });
  const put = (ids: readonly string[], n: number, at: number) =>
    clientOf(at).put(documents, { documents: ordered(ids, at).map(($id) => ({ $id, n })) });
  await together([200], (round, at) => put(idsOf(`new-${round}`), at, at));
  await together([200], (round, at) => put(idsOf('new-0'), round, at));
  // Whoever comes first creates them, in the order given.
  const answer = (await put(idsOf('later'), 1, 1)).expect(200);
  const given = answer.list('documents').map(({ $id }) => $id);
  assert.deepEqual(given, idsOf('later').reverse());
  const last = await key.get(
    `${documents}?queries[0]=${encodeURIComponent(query('limit', undefined, count))}&queries[1]=${encodeURIComponent(query('orderDesc', '$sequence'))}`,
  );
  assert.deepEqual(
    last.list('documents').map(({ $id }) => $id),
    idsOf('later'),
  );
});

test('creates of the same documents in opposite orders, beside upserts of them', async () => {
  const { documents } = await collection({ attributes });
  const all = await together([200, 201, 409], (round, at) => {
    const given = { documents: ordered(idsOf(`new-${round}`), at).map(($id) => ({ $id, n: at })) };
    return at < 2 ? clientOf(at).post(documents, given) : clientOf(at).put(documents, given);
  });
  assert.equal(all.filter((status) => status === 200).length, 2 * rounds);
  const answer = await key.post(documents, { documents: ordered(idsOf('later'), 1).map(($id) => ({ $id })) });
  const sequences = answer
    .expect(201)
    .list('documents')
    .map(({ $sequence }) => Number($sequence));
  assert.deepEqual(
    sequences,
    [...sequences].sort((one, other) => one - other),
  );
});

test('changes of what matches, in opposite orders, beside upserts and deletions', async () => {
  const { documents } = await collection({ attributes });
  const fill = () =>
    key.put(documents, { documents: idsOf('one').map(($id, place) => ({ $id, n: 0, place: (place * 7) % count })) });
  (await fill()).expect(200);
  const queries = (at: number) => [query(at % 2 === 0 ? 'orderAsc' : 'orderDesc', at < 2 ? 'place' : '$id')];
  await together([200], (_, at) => clientOf(at).patch(documents, { data: { n: increment }, queries: queries(at) }));
  for (const { n } of (await key.get(documents)).list('documents')) assert.equal(n, 4 * rounds);
  await together([200], async (_, at) => {
    if (at === 0)
      return clientOf(at).request('DELETE', documents, { queries: [...queries(1), query('limit', undefined, 9)] });
    if (at === 1) return fill();
    return clientOf(at).patch(documents, { data: { n: at }, queries: queries(at) });
  });
});

test('changing the next matching documents while others delete some', async () => {
  const { documents } = await collection({ attributes });
  const some = (at: number, limit: number) => [
    query(at % 2 === 0 ? 'orderAsc' : 'orderDesc', at < 4 ? 'place' : '$id'),
    query('limit', undefined, limit),
  ];
  const fill = (at: number) =>
    clientOf(at).put(documents, {
      documents: ordered(idsOf('one'), at).map(($id, place) => ({ $id, n: 0, place: (place * 7) % count })),
    });
  (await fill(0)).expect(200);
  await together([200], async (_, caller) => {
    for (let at = caller; at < 20 + caller; at++) {
      const answer = await (caller === 0
        ? fill(at)
        : caller === 1
          ? clientOf(at).request('DELETE', documents, { queries: some(at % 8, 5) })
          : clientOf(at).patch(documents, { data: { n: increment }, queries: some(at % 8, 12) }));
      if (answer.status !== 200) return answer;
    }
    return { status: 200 };
  });
});

test('those who each take the next documents that match get others', async () => {
  const { documents } = await collection({ attributes });
  (await key.put(documents, { documents: idsOf('job').map(($id) => ({ $id, n: 0 })) })).expect(200);
  const taken = await Promise.all(
    [0, 1, 2, 3].map((at) => {
      const queries = [query('equal', 'n', 0), query('limit', undefined, count / 4)];
      return clientOf(at).patch(documents, { data: { n: at + 1 }, queries });
    }),
  );
  const ids = taken.flatMap((answer) =>
    answer
      .expect(200)
      .list('documents')
      .map(({ $id }) => $id),
  );
  assert.deepEqual(ids.sort(), idsOf('job'));
});

test('transactions of changes of what matches, in opposite orders', async () => {
  const made = await collection({ attributes });
  const [databaseId, collectionId] = [made.databaseId, made.id];
  (await key.put(made.documents, { documents: idsOf('one').map(($id) => ({ $id, n: 0 })) })).expect(200);
  await together([200], async (_, at) => {
    const client = clientOf(at);
    const path = `/databases/transactions/${(await client.post('/databases/transactions', {})).string('$id')}`;
    const operations = ordered(idsOf('one'), at).map((id) => ({
      databaseId,
      collectionId,
      action: 'bulkUpdate',
      data: { data: { n: increment }, queries: [query('equal', '$id', id)] },
    }));
    (await client.post(`${path}/operations`, { operations })).expect(201);
    return client.patch(path, { commit: true });
  });
  for (const { n } of (await key.get(made.documents)).list('documents')) assert.equal(n, 4 * rounds);
});

test('transactions that change the next matching documents while others delete some', async () => {
  const made = await collection({ attributes });
  const fill = (at: number) =>
    clientOf(at).put(made.documents, {
      documents: ordered(idsOf('one'), at).map(($id, place) => ({ $id, n: 0, place: (place * 7) % count })),
    });
  const some = (at: number, limit: number) => [
    query(at % 2 === 0 ? 'orderAsc' : 'orderDesc', at % 4 < 2 ? 'place' : '$id'),
    query('limit', undefined, limit),
  ];
  const operation = (action: 'bulkUpdate' | 'bulkDelete', at: number) => ({
    databaseId: made.databaseId,
    collectionId: made.id,
    action,
    data: { ...(action === 'bulkUpdate' ? { data: { n: increment } } : {}), queries: some(at, 4) },
  });
  const commit = async (at: number) => {
    const client = clientOf(at);
    const path = `/databases/transactions/${(await client.post('/databases/transactions', {})).string('$id')}`;
    // Of the second kind each decides on what the next finds.
    const operations = [operation('bulkUpdate', at), ...(at % 2 === 0 ? [] : [operation('bulkDelete', at + 1)])];
    const staged = await client.post(`${path}/operations`, { operations });
    return staged.status === 201 ? client.patch(path, { commit: true }) : staged;
  };
  (await fill(0)).expect(200);
  await together([200], async (_, caller) => {
    for (let at = caller; at < 10 + caller; at++) {
      const answer = await (caller === 0
        ? fill(at)
        : caller === 1
          ? clientOf(at).request('DELETE', made.documents, { queries: some(at, 5) })
          : commit(at));
      if (answer.status !== 200) return answer;
    }
    return { status: 200 };
  });
});

test('a create of an id that another creates and deletes is answered that the document is there', async () => {
  const { documents } = await collection({ attributes });
  const types = new Set<unknown>();
  const callers = Array.from({ length: 24 }, (_, at) => at);
  const act = async (at: number) => {
    const client = clientOf(at);
    for (let count = 0; count < 40; count++)
      if (at % 4 === 0) await client.delete(`${documents}/same`);
      else types.add((await client.post(documents, { documentId: 'same', data: {} })).body.type);
  };
  await Promise.all(callers.map(act));
  types.delete(undefined);
  assert.deepEqual([...types], ['document_already_exists']);
});
