// The published web SDK, unmodified: `client.subscribe` and the service `Realtime`, over two server processes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, Channel, Client, Query, Realtime, type RealtimeResponseEvent } from 'appwrite';
import { aBackend } from '../documents/setup.js';
import { numbered } from '../feed/sse.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { eventually } from '../webhooks/setup.js';
import { actAsBrowser } from './as-browser.js';

type Told = RealtimeResponseEvent<{ $id: string; n?: number }>;

actAsBrowser();

const target = await startAppliance();
const sibling = await target.startSibling();
const { key, collection } = await aBackend(target);

function aClient({ origin }: TestAppliance, session?: string): Client {
  const client = new Client().setEndpoint(`${origin}/v1`).setProject(target.project.id);
  return session === undefined ? client : client.setSession(session);
}

test('two users and one collection: each gets exactly the events it may read, from either process', async () => {
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const some = await collection({ attributes: { n: { type: 'integer' } }, documentSecurity: true });
  await numbered(target);
  const [forAda, forBob]: [Told[], Told[]] = [[], []];
  const channel = Channel.database(some.databaseId).collection(some.id).document();
  const client = aClient(target, ada.secret);
  const unsubscribe = client.subscribe<Told['payload']>(String(channel), (told) => forAda.push(told));
  const realtime = new Realtime(aClient(sibling, bob.secret));
  const subscription = await realtime.subscribe<Told['payload']>(channel, (told) => forBob.push(told));
  const writes: Promise<unknown>[] = [];
  // The client reports no acknowledgement: a first document shows that both are subscribed.
  const ready = async () => {
    const body = { documentId: 'unique()', data: { n: 0 }, permissions: ['read("users")'] };
    (await key.post(some.documents, body)).expect(201);
    assert.ok(forAda.length > 0 && forBob.length > 0);
  };
  await eventually(ready);
  await numbered(target);
  const marks = [forAda.length, forBob.length];
  for (let n = 1; n <= 20; n += 1) {
    const reader = n % 2 === 0 ? ada : bob;
    const permissions = n % 5 === 0 ? ['read("users")'] : [`read("user:${reader.id}")`];
    writes.push(key.post(some.documents, { documentId: `d${n}`, data: { n }, permissions }));
  }
  await Promise.all(writes);
  const numbersOf = (told: readonly Told[], from = 0) =>
    told
      .slice(from)
      .map(({ payload }) => payload.n ?? 0)
      .filter((n) => n > 0)
      .sort((a, b) => a - b);
  const all = Array.from({ length: 20 }, (_, at) => at + 1);
  await eventually(() => {
    assert.deepEqual(
      numbersOf(forAda, marks[0]),
      all.filter((n) => n % 2 === 0 || n % 5 === 0),
    );
    assert.deepEqual(
      numbersOf(forBob, marks[1]),
      all.filter((n) => n % 2 === 1 || n % 5 === 0),
    );
  });
  assert.ok(forAda[0]?.events.includes('databases.*.collections.*.documents.*.create'));
  unsubscribe();
  await subscription.unsubscribe();
  await realtime.disconnect();
  (await key.post(some.documents, { documentId: 'late', data: { n: 99 }, permissions: ['read("users")'] })).expect(201);
  await numbered(target);
  assert.ok(![...forAda, ...forBob].some(({ payload }) => payload.n === 99));
});

test('queries of a subscription, and the account of a user who logged in with the SDK', async () => {
  const { email, password } = await aLoggedInUser(target);
  const some = await collection({ attributes: { n: { type: 'integer' } }, permissions: ['read("users")'] });
  const client = aClient(target);
  const account = new Account(client);
  const { secret } = await account.createEmailPasswordSession({ email, password });
  client.setSession(secret);
  await numbered(target);
  const told: Told[] = [];
  const realtime = new Realtime(client);
  const documents = Channel.database(some.databaseId).collection(some.id).document();
  await realtime.subscribe<Told['payload']>(documents, (one) => told.push(one), [Query.greaterThan('n', 5)]);
  await realtime.subscribe<Told['payload']>(Channel.account(), (one) => told.push(one));
  let name = 0;
  await eventually(async () => {
    name += 1;
    await account.updateName({ name: `Ada ${name}` });
    assert.ok(told.length > 0);
  });
  for (const n of [1, 6, 9]) (await key.post(some.documents, { documentId: `d${n}`, data: { n } })).expect(201);
  await eventually(() =>
    assert.deepEqual(
      told.flatMap(({ payload: { n } }) => (n === undefined ? [] : [n])),
      [6, 9],
    ),
  );
  await account.deleteSession({ sessionId: 'current' });
  const count = told.length;
  (await key.post(some.documents, { documentId: 'late', data: { n: 10 } })).expect(201);
  await numbered(target);
  assert.equal(told.length, count);
  await realtime.disconnect();
});
