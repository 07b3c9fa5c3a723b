// How long a list may work, for whom, and what it holds of the database meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { graphqlAnswer } from './graphql.js';
import { aBackend, queryString, type TestCollection } from './setup.js';
import { listBody, longText, slowQueries } from './slow-list.js';

interface Scene {
  readonly target: TestAppliance;
  readonly key: Client;
  readonly guest: Client;
  readonly collection: TestCollection;
}

async function setTheScene(settings: Record<string, string>): Promise<Scene> {
  const target = await startAppliance({ settings: { SVC_BODY_MAX_BYTES: '4194304', ...settings } });
  const { key, collection: aCollection } = await aBackend(target);
  const collection = await aCollection({
    permissions: ['read("any")'],
    attributes: { text: { type: 'string', size: 500_000 } },
  });
  for (let at = 0; at < 20; at++)
    (await key.post(collection.documents, { documentId: `d${at}`, data: { text: longText } })).expect(201);
  return { target, key, guest: createClient(target), collection };
}

const patient = await setTheScene({});
/** Where no list was slow yet. */
const unhurried = await setTheScene({});
const hasty = await setTheScene({ SVC_QUERY_SECONDS: '1' });

/** A list by somebody who hangs up when told to. */
function aSlowList({ target, collection }: Scene, headers: Record<string, string>, signal?: AbortSignal) {
  return fetch(`${target.origin}/v1/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Service-Project': target.project.id, ...headers },
    body: JSON.stringify(listBody(collection.databaseId, collection.id, slowQueries())),
    ...(signal === undefined ? {} : { signal }),
  });
}

const fastQueries = queryString([
  { method: 'equal', attribute: '$id', values: ['d1', 'd2'] },
  { method: 'select', values: ['$id'] },
]);

async function msOf(act: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await act();
  return performance.now() - started;
}

/** How many statements of this server Postgres works on; those of SQLite cannot be seen. */
async function working(target: TestAppliance): Promise<number> {
  if (target.appliance.runtime.sql.dialect === 'sqlite') return 0;
  const text =
    "select count(*) as n from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and datname = current_database()";
  const [row] = await runSql(target, text);
  return Number(row?.n);
}

test('a statement that takes longer than it may is ended, by REST and by GraphQL', async () => {
  const { guest, collection, key, target } = hasty;
  const byRest = slowQueries();
  const [rest, { errors }] = await Promise.all([
    guest.get(collection.documents + queryString(byRest)),
    guest.post('/graphql', listBody(collection.databaseId, collection.id, slowQueries())).then(graphqlAnswer),
  ]);
  rest.refused(503, 'general_query_timeout');
  assert.deepEqual(
    errors.map(({ code, type }) => [code, type]),
    [[503, 'general_query_timeout']],
  );
  // Ids of requests may hold pieces of it.
  assert.doesNotMatch(target.log(), /like |select |a{30}|\baab\w\w\b/);
  (await key.get(collection.documents + fastQueries)).expect(200);
  assert.equal(await working(target), 0);
});

test('a list that is ended leaves its connection as it was, with a cursor and its snapshot too', async () => {
  const { guest, collection } = hasty;
  const after = [...slowQueries(), { method: 'cursorAfter', values: ['d1'] }];
  for (let round = 0; round < 4; round++)
    (await guest.get(collection.documents + queryString(after))).refused(503, 'general_query_timeout');
  const answers = await Promise.all(
    Array.from({ length: 12 }, () =>
      guest.get(
        `${collection.documents}${fastQueries}&queries[2]=${encodeURIComponent('{"method":"cursorAfter","values":["d1"]}')}`,
      ),
    ),
  );
  for (const answer of answers) assert.equal(answer.expect(200).body.total, 2);
});

test('work ends when its client has gone, and its waiting parts never start', async () => {
  const hangUp = new AbortController();
  const lists = Array.from({ length: 12 }, () => aSlowList(patient, {}, hangUp.signal).catch(() => undefined));
  await sleep(700);
  hangUp.abort();
  await Promise.all(lists);
  const ms = await msOf(async () => (await patient.guest.get(patient.collection.documents + fastQueries)).expect(200));
  assert.ok(ms < 3000, `the next list of the same caller took ${ms} ms`);
  await sleep(500);
  assert.equal(await working(patient.target), 0);
});

test('an account that lists much leaves room for others, and credentials are looked up without lists', async () => {
  const { target, collection } = patient;
  const user = await aLoggedInUser(target);
  const other = await aServerKey(target);
  const hangUp = new AbortController();
  const lists = Array.from({ length: 12 }, () => aSlowList(patient, {}, hangUp.signal).catch(() => undefined));
  await sleep(300);
  const list = await msOf(async () => (await other.client.get(collection.documents + fastQueries)).expect(200));
  const account = await msOf(async () => (await user.client.get('/account')).expect(200));
  const document = await msOf(async () => (await user.client.get(`${collection.documents}/d1`)).expect(200));
  hangUp.abort();
  await Promise.all(lists);
  for (const [name, ms] of Object.entries({ list, account, document })) assert.ok(ms < 3000, `${name} took ${ms} ms`);
});

test('more lists than may wait are refused for a moment', async () => {
  const { target, collection, guest } = patient;
  const hangUp = new AbortController();
  const { url, body } = {
    url: `${target.origin}/v1/graphql`,
    // Twenty lists each, which are one request.
    body: JSON.stringify({
      query: `query ($d: String!, $c: String!, $q: [String!]) { ${Array.from({ length: 20 }, (_, at) => `a${at}: documentList(databaseId: $d, collectionId: $c, queries: $q) { total }`).join(' ')} }`,
      variables: (listBody(collection.databaseId, collection.id, slowQueries()) as { variables: object }).variables,
    }),
  };
  const headers = { 'Content-Type': 'application/json', 'X-Service-Project': target.project.id };
  const requests: Promise<unknown>[] = Array.from({ length: 14 }, () =>
    fetch(url, { method: 'POST', headers, body, signal: hangUp.signal }).catch(() => undefined),
  );
  // On a busy machine they are all there later, and some have ended by then: more come until one is refused. After ten seconds one that waits would be.
  let refused: Response | undefined;
  const ask = async () => {
    const path = `/v1${collection.documents}${queryString(slowQueries())}`;
    const answer = await fetch(target.origin + path, { headers, signal: hangUp.signal }).catch(() => undefined);
    if (answer?.status === 503) refused ??= answer;
  };
  for (let attempt = 0; refused === undefined && attempt < 16; attempt++) {
    requests.push(...Array.from({ length: 8 }, ask));
    await sleep(500);
  }
  assert.equal(((await refused?.json()) as { type: string } | undefined)?.type, 'general_unavailable');
  assert.equal(refused?.status, 503);
  assert.ok(Number(refused.headers.get('Retry-After')) >= 1);
  hangUp.abort();
  await Promise.all(requests);
  // The server learns of it a little later.
  await sleep(500);
  (await guest.get(collection.documents + fastQueries)).expect(200);
});

for (const apart of [false, true])
  test(`a list that is slow does not make those slow that share its kind${apart ? ', and come later' : ''}`, async () => {
    const { collection, target } = apart ? unhurried : patient;
    const of = (piece: string) =>
      queryString([
        { method: 'contains', attribute: 'text', values: [piece] },
        { method: 'select', values: ['$id'] },
      ]);
    const users = await Promise.all(Array.from({ length: 8 }, () => aLoggedInUser(target)));
    const hangUp = new AbortController();
    const slow = [1, 2].map(async (at) => {
      if (apart) await sleep(at * 100);
      await fetch(`${target.origin}/v1${collection.documents}${of(`${'a'.repeat(2000)}b${at}`)}`, {
        headers: { 'X-Service-Project': target.project.id },
        signal: hangUp.signal,
      }).catch(() => undefined);
    });
    // Each of them runs alone then.
    if (apart) await sleep(300);
    const times = await Promise.all(
      users.map(({ client }, at) =>
        msOf(async () => (await client.get(collection.documents + of(`x${at}`))).expect(200)),
      ),
    );
    hangUp.abort();
    await Promise.all(slow);
    assert.ok(Math.max(...times) < 6000, `they took ${times} ms`);
  });
