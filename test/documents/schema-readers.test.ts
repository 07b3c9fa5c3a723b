// A change of one table waits for who holds the table, and does not make the others wait with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { aServerKey } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { aBackend, type TestCollection } from './setup.js';
import { listBody, longText, slowQueries } from './slow-list.js';

const here = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const { secret } = await aServerKey(here);
const client = createClient(here, { key: secret });
const { key, collection } = await aBackend(here);

/** For how long somebody holds the table: longer than the service waits for a lock of a row. On SQLite nobody can. */
const heldMs = databaseUnderTest === 'postgres' ? 3300 : 100;
/** The longest wait for a lock is 0.6 seconds. */
const quickMs = 2000;

async function aPlace(): Promise<TestCollection> {
  const place = await collection({
    permissions: ['read("any")'],
    attributes: { s: { type: 'string', size: 30 }, n: { type: 'integer' }, text: { type: 'longtext' } },
  });
  (await key.post(place.indexes, { key: 'sorted', type: 'key', attributes: ['n'] })).expect(202);
  (await key.post(place.indexes, { key: 'words', type: 'fulltext', attributes: ['text'] })).expect(202);
  (await key.put(`${place.documents}/one`, { data: { s: 'a', n: 1, text: 'some words' } })).expect(200);
  return place;
}

async function tableOf({ id }: TestCollection): Promise<string> {
  const [row] = await runSql(here, 'select number from collections where id = ?', [id]);
  return `d_${Number(row?.number)}`;
}

/** Holds the table in a transaction from outside, as a dump does, or somebody who writes into it by hand. */
async function held<T>(table: string, how: 'read' | 'written', act: (release: () => Promise<void>) => Promise<T>) {
  if (databaseUnderTest === 'sqlite') return act(async () => {});
  const outside = new pg.Client(here.databaseUrl);
  await outside.connect();
  try {
    await outside.query('begin');
    await outside.query(how === 'read' ? `select count(*) from ${table}` : `update ${table} set id = id where false`);
    return await act(async () => void (await outside.query('commit')));
  } finally {
    await outside.end();
  }
}

/** Reads and writes until `act` is done; each answer must come soon, and none may be 503. */
async function beside({ documents }: TestCollection, act: () => Promise<void>): Promise<void> {
  let isOver = false;
  const wrong: string[] = [];
  let slowest = 0;
  const worker = async (at: number) => {
    while (!isOver) {
      const started = performance.now();
      const answer: Answer =
        at === 0
          ? await client.put(`${documents}/two`, { data: { n: 2 } })
          : await client.get(`${documents}${at === 1 ? '' : '/one'}`);
      slowest = Math.max(slowest, performance.now() - started);
      if (answer.status !== 200) wrong.push(`${answer.status} ${answer.body.type}`);
      await sleep(10);
    }
  };
  const workers = [0, 1, 2, 2].map(worker);
  try {
    await act();
  } finally {
    isOver = true;
    await Promise.all(workers);
  }
  assert.deepEqual(wrong, []);
  assert.ok(slowest < quickMs, `one was answered after ${Math.round(slowest)} ms`);
}

type Change = (place: TestCollection) => Promise<unknown>;
const changes: readonly (readonly [string, 'read' | 'written', Change])[] = [
  [
    'an attribute is added',
    'read',
    async ({ attributes }) => (await key.post(`${attributes}/integer`, { key: 'm', required: false })).expect(202),
  ],
  ['an attribute is deleted', 'read', async ({ attributes }) => (await key.delete(`${attributes}/s`)).expect(204)],
  ['an index is deleted', 'read', async ({ indexes }) => (await key.delete(`${indexes}/sorted`)).expect(204)],
  ['a fulltext index is deleted', 'read', async ({ indexes }) => (await key.delete(`${indexes}/words`)).expect(204)],
  [
    'an index is added',
    'written',
    async ({ indexes }) => (await key.post(indexes, { key: 'more', type: 'key', attributes: ['s'] })).expect(202),
  ],
  [
    'a fulltext index is added',
    'written',
    async ({ indexes }) => (await key.post(indexes, { key: 'more', type: 'fulltext', attributes: ['s'] })).expect(202),
  ],
  [
    'a text is made shorter',
    'written',
    async ({ attributes }) =>
      (await key.patch(`${attributes}/string/s`, { required: false, default: null, size: 20 })).expect(200),
  ],
];

for (const [what, how, change] of changes)
  test(`${what} while others use the collection, and the table is ${how} from outside`, async () => {
    const place = await aPlace();
    await held(await tableOf(place), how, (release) =>
      beside(place, async () => {
        const changed = change(place);
        await sleep(heldMs);
        await release();
        await changed;
      }),
    );
  });

if (databaseUnderTest === 'postgres') {
  test('a change that cannot be made in time is answered 503 and leaves nothing behind', async () => {
    const place = await aPlace();
    const table = await tableOf(place);
    const add = () => key.post(`${place.attributes}/integer`, { key: 'm', required: false });
    const state = async () => ({
      shown: (await key.get(place.path)).expect(200).body,
      columns: await runSql(here, 'select column_name from information_schema.columns where table_name = ?', [table]),
    });
    const before = await state();
    await held(table, 'read', () => beside(place, async () => void (await add()).expect(503)));
    assert.deepEqual(await state(), before);
    (await add()).expect(202);
  });

  test('a change beside a long list of the service', async () => {
    const place = await aPlace();
    for (let at = 0; at < 4; at++)
      (await key.put(`${place.documents}/long-${at}`, { data: { n: at, text: longText } })).expect(200);
    const list = { isOver: false };
    const reading = client.post('/graphql', listBody(place.databaseId, place.id, slowQueries(40))).then(() => {
      list.isOver = true;
    });
    await beside(place, async () => {
      const deletion = key.delete(`${place.attributes}/s`);
      await sleep(300);
      assert.ok(!list.isOver, 'the list is over too soon');
      (await deletion).expect(204);
    });
    await reading;
  });
}
