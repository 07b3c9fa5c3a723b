// Lists from a standby: a caller sees its own writes and nothing that was withdrawn, whatever process it asks and however late the standby is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBackend, queryString, type TestCollection } from '../documents/setup.js';
import { aLoggedInUser, aServerKey, type LoggedInUser } from '../harness/actors.js';
import { databaseUnderTest, startAppliance, type TestAppliance, testConfig } from '../harness/appliance.js';
import { type Installation, install } from '../harness/cli.js';
import { type Client, createClient } from '../harness/client.js';
import { startPair } from '../harness/postgres.js';
import { startNetwork } from '../harness/proxy.js';
import { after } from '../harness/runner.js';
import { holds } from './moods.js';

const skip = databaseUnderTest === 'sqlite' && 'there is no standby';
/** Pairs of a write and a list. */
const pairs = Number(process.env.SVC_TEST_PAIRS ?? 500);

const pair = skip ? ({} as Awaited<ReturnType<typeof startPair>>) : await startPair();
const databaseUrl = skip ? '' : await pair.primary.createDatabase('main');
const readUrl = skip ? '' : onStandby(databaseUrl);
const [first, second] = skip ? ([] as unknown as [TestAppliance, TestAppliance]) : await startBoth();
// The servers go before their database.
after(async () => {
  if (skip) return;
  await first.close();
  await Promise.all([pair.primary.stop(), pair.standby.stop()]);
});

async function startBoth(): Promise<[TestAppliance, TestAppliance]> {
  const one = await startAppliance({ databaseUrl, settings: { SVC_DATABASE_READ_URL: readUrl } });
  const both: [TestAppliance, TestAppliance] = [one, await one.startSibling()];
  for (const server of both) await holds(() => isUsed(server), 20_000);
  return both;
}

function onStandby(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.port = new URL(pair.standby.url).port;
  return url.href;
}

/** The value of a metric. */
async function metric(server: TestAppliance, name: string): Promise<number> {
  const text = await (await fetch(`${server.origin}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  assert.ok(line, name);
  return Number(line.split(' ').at(-1));
}

async function isUsed(server: TestAppliance): Promise<boolean> {
  return (await metric(server, 'svc_db_standby_up')) === 1;
}

const listsOf = (server: TestAppliance, at: 'standby' | 'primary') =>
  metric(server, `svc_db_lists_total{server="${at}"}`);

async function countedLists(during: () => Promise<void>): Promise<{ standby: number; primary: number }> {
  const count = async (at: 'standby' | 'primary') => (await listsOf(first, at)) + (await listsOf(second, at));
  const begun = [await count('standby'), await count('primary')] as const;
  await during();
  return { standby: (await count('standby')) - begun[0], primary: (await count('primary')) - begun[1] };
}

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;

/** A collection with documents of one user. A server key shares them with another user. */
interface Scene {
  readonly collection: TestCollection;
  readonly owner: LoggedInUser;
  readonly other: LoggedInUser;
  readonly key: Client;
  readonly secret: string;
}

async function aScene(): Promise<Scene> {
  const { key, collection } = await aBackend(first);
  const attributes = { n: { type: 'integer' } };
  const permissions = ['create("users")'];
  const made = await collection({ documentSecurity: true, permissions, attributes });
  const { secret } = await aServerKey(first);
  return { key, secret, collection: made, owner: await aLoggedInUser(first), other: await aLoggedInUser(first) };
}

/** At any of the servers. */
const anywhere = ({ secret }: LoggedInUser) => createClient(pick([first, second]), { session: secret });

async function listed(user: LoggedInUser, { documents }: TestCollection, id: string) {
  const query = queryString([{ method: 'equal', attribute: '$id', values: [id] }]);
  return (await anywhere(user).get(documents + query)).expect(200).list('documents')[0];
}

/** A write and the list after it; each document is created, changed, shared, withdrawn and deleted. */
async function writeAndList(scene: Scene, at: number): Promise<void> {
  const { collection, owner, other, secret } = scene;
  const backend = () => createClient(pick([first, second]), { key: secret });
  const id = `d${Math.floor(at / 5)}`;
  const path = `${collection.documents}/${id}`;
  const own = ['read', 'update', 'delete'].map((action) => `${action}("user:${owner.id}")`);
  switch (at % 5) {
    case 0:
      (await anywhere(owner).post(collection.documents, { documentId: id, data: { n: 0 }, permissions: own })).expect(
        201,
      );
      assert.equal((await listed(owner, collection, id))?.n, 0, `${id} is not listed`);
      return;
    case 1:
      (await anywhere(owner).patch(path, { data: { n: at } })).expect(200);
      assert.equal((await listed(owner, collection, id))?.n, at, `${id} has an earlier value`);
      return;
    case 2:
      (await backend().patch(path, { permissions: [...own, `read("user:${other.id}")`] })).expect(200);
      assert.ok(await listed(other, collection, id), `${id} is not shared`);
      return;
    case 3:
      (await backend().patch(path, { permissions: own })).expect(200);
      assert.equal(await listed(other, collection, id), undefined, `${id} is still shared`);
      return;
    default:
      (await anywhere(owner).delete(path)).expect(204);
      assert.equal(await listed(owner, collection, id), undefined, `${id} is still listed`);
  }
}

test('lists come from the standby, and each shows every write before it', { skip }, async () => {
  const scene = await aScene();
  const { standby, primary } = await countedLists(async () => {
    for (let at = 0; at < pairs / 2; at++) await writeAndList(scene, at);
  });
  assert.ok(standby > primary, `${standby} lists from the standby, ${primary} from the primary`);
});

test('a standby that is two seconds late hides no write and shows nothing that was withdrawn', { skip }, async () => {
  const scene = await aScene();
  await pair.standby.delay('2s');
  try {
    const { standby, primary } = await countedLists(async () => {
      const writers = Array.from({ length: 5 }, async (_, writer) => {
        for (let at = 0; at < pairs / 10; at++) await writeAndList(scene, at + writer * pairs);
      });
      await Promise.all(writers);
    });
    assert.ok(primary > standby, `${standby} lists from the standby, ${primary} from the primary`);
    await holds(async () => (await metric(first, 'svc_db_standby_lag_seconds')) > 1, 10_000);
  } finally {
    await pair.standby.delay('0');
  }
});

test('a late standby hides no membership that has ended, and admits no session that has ended', { skip }, async () => {
  const { key, collection, other } = await aScene();
  const teamId = 'staff';
  (await key.post('/teams', { teamId, name: 'Staff' })).expect(201);
  const body = { userId: other.id, roles: [] };
  const membershipId = (await key.post(`/teams/${teamId}/memberships`, body)).expect(201).string('$id');
  const shared = { documentId: 'shared', data: { n: 1 }, permissions: ['read("team:staff")'] };
  (await key.post(collection.documents, shared)).expect(201);
  assert.ok(await listed(other, collection, 'shared'));
  await pair.standby.delay('2s');
  try {
    (await key.delete(`/teams/${teamId}/memberships/${membershipId}`)).expect(204);
    assert.equal(await listed(other, collection, 'shared'), undefined);
    (await anywhere(other).delete('/account/sessions/current')).expect(204);
    (await anywhere(other).get('/account')).expect(401);
  } finally {
    await pair.standby.delay('0');
  }
});

test('without the standby lists come from the primary, and from the standby again when it is back', {
  skip,
}, async () => {
  const { collection, owner } = await aScene();
  const list = async () => (await anywhere(owner).get(collection.documents)).expect(200);
  await holds(() => isUsed(first), 20_000);
  await pair.standby.stopHard();
  for (let at = 0; at < 20; at++) await list();
  await holds(async () => !(await isUsed(first)), 20_000);
  assert.match(first.log(), /"event":"standby\.unused","reason":"unreachable"/);
  await pair.standby.start();
  await holds(() => isUsed(first), 20_000);
  const before = await listsOf(first, 'standby');
  await holds(async () => {
    await list();
    return (await listsOf(first, 'standby')) > before;
  }, 20_000);
  assert.equal(first.log().match(/"event":"standby\.unused"/g)?.length, 1);
});

test('a standby that hangs delays lists for a few seconds only', { skip }, async () => {
  const { collection, owner } = await aScene();
  await holds(() => isUsed(first), 20_000);
  pair.standby.pause();
  try {
    for (let at = 0; at < 5; at++) (await anywhere(owner).get(collection.documents)).expect(200);
  } finally {
    pair.standby.resume();
  }
  await holds(() => isUsed(first), 20_000);
});

test('the doctor names a standby that does not respond, is late, or is none', { skip }, async () => {
  const place = await install({ postgres: pair.primary.url });
  after(() => place.dispose());
  const examine = (url: string) => findings(place, url);
  const ofPlace = onStandby(String(place.env.SVC_DATABASE_URL));
  await holds(async () => (await examine(ofPlace)).length === 0, 20_000);
  await pair.standby.delay('5s');
  await place.sql('create table late (id int)');
  assert.deepEqual(await examine(ofPlace), ['standby_late']);
  await pair.standby.delay('0');
  assert.deepEqual(await examine(String(place.env.SVC_DATABASE_URL)), ['standby_unusable']);
  assert.deepEqual(await examine(readUrl), ['standby_unusable']);
  assert.deepEqual(await examine('postgres://svc@127.0.0.1:1/main'), ['standby_unusable']);
  const hung = await startNetwork(ofPlace);
  hung.hold();
  assert.deepEqual(await examine(hung.databaseUrl), ['standby_unusable']);
});

async function findings({ svc }: Installation, url: string): Promise<string[]> {
  const { out } = await svc(['doctor', '--json'], { env: { SVC_DATABASE_READ_URL: url } });
  const { findings } = JSON.parse(out) as { findings: { code: string }[] };
  return findings.map(({ code }) => code).filter((code) => code.startsWith('standby_') || code === 'check_failed');
}

test('a standby that was promoted is no longer used', { skip }, async () => {
  const { collection, owner } = await aScene();
  await holds(() => isUsed(first), 20_000);
  await pair.standby.promote();
  const id = 'after';
  const body = { documentId: id, data: { n: 1 }, permissions: [`read("user:${owner.id}")`] };
  (await anywhere(owner).post(collection.documents, body)).expect(201);
  assert.ok(await listed(owner, collection, id));
  await holds(async () => !(await isUsed(first)), 20_000);
  assert.match(first.log(), /"event":"standby\.unused","reason":"not-a-standby"/);
});

test('a setting that names no standby is refused with the reason', () => {
  const refusal = (databaseUrl: string, url: string) => {
    try {
      testConfig('/tmp', databaseUrl, { SVC_DATABASE_READ_URL: url });
      return '';
    } catch (error) {
      return JSON.stringify(error) + String(error);
    }
  };
  assert.match(refusal('sqlite:/tmp/svc.db', 'postgres://u@one/name'), /names a standby of Postgres/);
  assert.match(refusal('postgres://u@one/name', 'sqlite:/tmp/svc.db'), /must be postgres/);
  assert.match(refusal('postgres://u@one/name', 'postgres://u@two,three/name'), /name one server/);
  assert.equal(refusal('postgres://u@one/name', 'postgres://u@two/name'), '');
});
