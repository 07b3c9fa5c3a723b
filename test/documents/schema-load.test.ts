// What is related is taken out of the schema while others write and read it from both sides: nobody waits for who waits for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { deadlocksOf } from './deadlocks.js';
import { aBackend, type TestCollection } from './setup.js';

const here = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const there = await here.startSibling();
const { secret } = await aServerKey(here);
const clients = [here, there].map((target) => createClient(target, { key: secret }));
const attributes = { s: { type: 'string', size: 30 } };

interface Place {
  readonly key: Awaited<ReturnType<typeof aBackend>>['key'];
  readonly first: TestCollection;
  readonly second: TestCollection;
  readonly third: TestCollection;
}

/** Two collections that writers use, and a third one that is related to the first by what nobody uses. */
async function aPlace(): Promise<Place> {
  const { key, collection } = await aBackend(here);
  // The permissions of documents are in a table of their own.
  const given = { attributes, documentSecurity: true };
  const [first, second, third] = [await collection(given), await collection(given), await collection(given)];
  const relate = async (to: TestCollection, name: string) => {
    const both = { type: 'manyToMany', twoWay: true, key: name, twoWayKey: name, onDelete: 'cascade' };
    (await key.post(`${first.attributes}/relationship`, { relatedCollectionId: to.id, ...both })).expect(202);
  };
  await relate(second, 'used');
  await relate(third, 'unused');
  return { key, first, second, third };
}

/** Writes and reads from both sides until `act` is done, and tells how often each was answered. */
async function under({ first, second }: Place, act: (written: () => number) => Promise<void>): Promise<void> {
  let isOver = false;
  let writes = 0;
  const wrong: Answer[] = [];
  const permissions = ['read("any")', 'update("any")'];
  const worker = async (at: number) => {
    const client = clients[at % 2] ?? createClient(here);
    const [own, other] = at % 4 < 2 ? [first, second] : [second, first];
    for (let n = at; !isOver; n++) {
      const answer =
        at < 8
          ? await client.put(`${own.documents}/${own.id}-${n % 7}`, {
              data: { s: `${n}`, used: [{ $id: `${other.id}-${n % 9}`, s: `${n}`, $permissions: permissions }] },
              permissions,
            })
          : await client.get(`${own.documents}?populate[0]=used`);
      if (answer.status === 200) writes += at < 8 ? 1 : 0;
      // Once it is gone, what is asked for is none.
      else if (answer.status !== 404 && answer.status !== 400) wrong.push(answer);
    }
  };
  const before = await deadlocksOf(here);
  const workers = Array.from({ length: 12 }, (_, at) => worker(at));
  const start = writes;
  try {
    while (writes < start + 20 && wrong.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await act(() => writes);
  } finally {
    isOver = true;
    await Promise.all(workers);
  }
  assert.deepEqual(
    wrong.map(({ status, body }) => `${status} ${body.type}`),
    [],
  );
  assert.equal((await deadlocksOf(here)) - before, 0);
}

const removals: readonly (readonly [string, (place: Place) => string])[] = [
  ['a relationship', ({ first }) => `${first.attributes}/used`],
  ['a relationship that nobody uses', ({ first }) => `${first.attributes}/unused`],
  ['a collection with relationships', ({ first }) => first.path],
  ['the related collection', ({ second }) => second.path],
  ['a database', ({ first }) => `/databases/${first.databaseId}`],
];

for (const [what, pathOf] of removals)
  test(`${what} is deleted at the first request, beside writers and readers`, async () => {
    const place = await aPlace();
    await under(place, async () => void (await place.key.delete(pathOf(place))).expect(204));
    (await place.key.get(pathOf(place))).expect(404);
  });

test('relationships are added beside writers and readers, and deleted from both sides at once', async () => {
  const place = await aPlace();
  const { first, second, key } = place;
  await under(place, async () => {
    for (let count = 0; count < 3; count++) {
      const of = (own: TestCollection, related: TestCollection, name: string) =>
        key.post(`${own.attributes}/relationship`, {
          relatedCollectionId: related.id,
          type: 'oneToOne',
          twoWay: true,
          key: name,
          twoWayKey: name,
        });
      for (const answer of await Promise.all([of(first, second, 'one'), of(second, first, 'two')])) answer.expect(202);
      const gone = [key.delete(`${first.attributes}/one`), key.delete(`${second.attributes}/two`)];
      for (const answer of await Promise.all(gone)) answer.expect(204);
    }
  });
});

if (databaseUnderTest === 'postgres')
  test('a deletion that waits for a long read does not hold up the others', async () => {
    const place = await aPlace();
    const [row] = await runSql(here, 'select number from collections where id = ?', [place.first.id]);
    await under(place, async (written) => {
      let isRead = false;
      const reading = runSql(
        here,
        `select pg_sleep(4) from (select count(*) from d_${Number(row?.number)}) as counted`,
      ).finally(() => {
        isRead = true;
      });
      const deletion = place.key.delete(`${place.first.attributes}/used`);
      const before = written();
      while (written() < before + 20 && !isRead) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.ok(!isRead, `${written() - before} writes came through while the table was read`);
      await reading;
      (await deletion).expect(204);
    });
  });
