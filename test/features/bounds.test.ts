// What a caller can have many of has a bound, and sizes that multiply are bounded together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

/** The bounds as docs/decisions/bounds.md says them. */
const bounds = {
  ...{ platforms: 200, keys: 500, databases: 100, collections: 1000 },
  ...{ labels: 1000, targets: 25, schemaBytes: 1_048_576, elements: 100 },
};
const target = await startAppliance();
const key = (await aServerKey(target)).client;
const guest = createClient(target);

test('the number of platforms of a project is limited, also for concurrent requests; removing one makes place', async () => {
  const add = (at: number) =>
    key.post('/project/platforms/web', { platformId: `p${at}`, name: '', hostname: `h${at}.example.com` });
  const numbers = (count: number, from: number) => Array.from({ length: count }, (_, at) => from + at);
  for (const at of numbers(bounds.platforms - 2, 0)) (await add(at)).expect(201);
  const together = await Promise.all(numbers(10, 1000).map(add));
  assert.equal(together.filter(({ status }) => status === 201).length, 2);
  for (const answer of together) if (answer.status !== 201) answer.refused(400, 'platform_limit_exceeded');
  (await key.delete('/project/platforms/p0')).expect(204);
  (await add(2000)).expect(201);
});

test('the number of databases and collections of a project is limited, also for concurrent requests', async () => {
  const fill = async (
    count: number,
    add: (at: number) => ReturnType<typeof key.post>,
    type: 'database_limit_exceeded' | 'collection_limit_exceeded',
  ) => {
    // On a busy machine a writer may wait so long that it gets 503.
    const addAgain = async (at: number) => {
      let answer = await add(at);
      while (answer.status === 503) answer = await add(at);
      return answer;
    };
    const answers = [];
    for (let at = 0; at < count + 10; at += 30)
      answers.push(
        ...(await Promise.all(Array.from({ length: Math.min(30, count + 10 - at) }, (_, on) => addAgain(at + on)))),
      );
    assert.equal(answers.filter(({ status }) => status === 201).length, count);
    for (const answer of answers) if (answer.status !== 201) answer.refused(400, type);
  };
  const named = (at: number) => ({ name: `n${at}` });
  await fill(
    bounds.databases,
    (at) => key.post('/databases', { databaseId: at === 0 ? 'first' : 'unique()', ...named(at) }),
    'database_limit_exceeded',
  );
  await fill(
    bounds.collections,
    (at) => key.post('/databases/first/collections', { collectionId: 'unique()', ...named(at) }),
    'collection_limit_exceeded',
  );
  const described = (await key.get('/openapi.json')).expect(200);
  assert.doesNotMatch(described.text, /"Document\.first\./, 'so many are left out of the description');
  // One that goes makes room.
  (await key.delete('/databases/first')).expect(204);
  (await key.post('/databases', { databaseId: 'again', name: 'n' })).expect(201);
  (await key.post('/databases/again/collections', { collectionId: 'c', name: 'n' })).expect(201);
  const listed = await key.get(`/databases?queries[]=${encodeURIComponent('{"method":"limit","values":[100]}')}`);
  const { databases } = listed.expect(200).body as { databases: { $id: string }[] };
  for (const { $id } of databases) (await key.delete(`/databases/${$id}`)).expect(204);
});

test('the number of server keys of a project is limited, also for concurrent requests', async () => {
  const { runtime, features } = target.appliance;
  const by = { projectId: 'neighbour', actor: { kind: 'operator', id: 'test' }, requestId: 'test' };
  const add = () =>
    runtime.db.work(by, (unit) =>
      features.serverKeys.create(unit, 'neighbour', { name: 'k', scopes: ['all'], expire: null }),
    );
  for (let at = 0; at < bounds.keys - 2; at++) await add();
  const together = await Promise.allSettled(Array.from({ length: 10 }, add));
  assert.equal(together.filter(({ status }) => status === 'fulfilled').length, 2);
  await assert.rejects(add(), { type: 'key_limit_exceeded' });
});

test('the number of labels and targets of a user is limited', async () => {
  const { id } = await aLoggedInUser(target);
  const labels = (count: number) => ({ labels: Array.from({ length: count }, (_, at) => `l${at}`) });
  (await key.put(`/users/${id}/labels`, labels(bounds.labels))).expect(200);
  (await key.put(`/users/${id}/labels`, labels(bounds.labels + 1))).refused(400, 'general_argument_invalid');
  const add = (at: number) =>
    key.post(`/users/${id}/targets`, { targetId: `t${at}`, providerType: 'push', identifier: `device-${at}` });
  const statuses = [];
  for (let at = 0; at <= bounds.targets; at++) statuses.push((await add(at)).status);
  // The address of the sign-up is a target too.
  assert.deepEqual(
    statuses.map((status) => status === 201),
    statuses.map((_, at) => at < bounds.targets - 1),
  );
});

test('the roles of a user are bounded in all teams together, however they come', async () => {
  const owner = await aLoggedInUser(target);
  const member = await aLoggedInUser(target);
  const roles = (count: number) => Array.from({ length: count }, (_, at) => `role-${at}`.padEnd(81, 'x'));
  for (let at = 0; at < 9; at++) {
    const body = { teamId: `many-${at}`, name: 'T', roles: roles(100) };
    (await owner.client.post('/teams', body)).expect(201);
    const add = { userId: member.id, roles: roles(100) };
    (await key.post(`/teams/many-${at}/memberships`, add)).expect(201);
  }
  // The owner holds 909 roles, as whoever makes a team is its owner too; the member 900.
  const last = { teamId: 'last', name: 'T', roles: roles(100) };
  (await owner.client.post('/teams', last)).refused(400, 'team_limit_exceeded');
  (await owner.client.post('/teams', { ...last, roles: roles(90) })).expect(201);
  const place = { userId: member.id, roles: roles(100) };
  const joined = (await key.post('/teams/last/memberships', { ...place, roles: roles(99) })).expect(201);
  const at = `/teams/last/memberships/${joined.string('$id')}`;
  (await owner.client.patch(at, { roles: roles(100) })).expect(200);
  (await key.post('/teams', { teamId: 'one-more', name: 'T' })).expect(201);
  (await key.post('/teams/one-more/memberships', { ...place, roles: ['a'] })).refused(400, 'team_limit_exceeded');
  (await owner.client.patch(at, { roles: roles(98) })).expect(200);
  const more = (await key.post('/teams/one-more/memberships', { ...place, roles: ['a', 'b'] })).expect(201);
  const growing = `/teams/one-more/memberships/${more.string('$id')}`;
  (await key.patch(growing, { roles: ['a', 'b', 'c'] })).refused(400, 'team_limit_exceeded');
  (await key.patch(growing, { roles: ['c', 'd'] })).expect(200);
});

test('the schema of a collection is bounded as a whole: defaults, elements, names', async () => {
  (await key.post('/databases', { databaseId: 'db', name: 'Db' })).expect(201);
  const collection = '/databases/db/collections/wide';
  const permissions = ['read("any")', 'create("any")'];
  (await key.post('/databases/db/collections', { collectionId: 'wide', name: 'W', permissions })).expect(201);
  const half = 'x'.repeat(bounds.schemaBytes / 2 - 1000);
  const text = (name: string, value: string) =>
    key.post(`${collection}/attributes/string`, { key: name, size: 1_000_000, required: false, default: value });
  (await text('first', half)).expect(202);
  (await text('second', half)).expect(202);
  (await text('third', 'y'.repeat(2000))).refused(400, 'attribute_limit_exceeded');
  const change = { required: false, default: `${half}${'z'.repeat(2000)}` };
  (await key.patch(`${collection}/attributes/string/first`, change)).refused(400, 'attribute_limit_exceeded');
  (await key.patch(`${collection}/attributes/string/first`, { ...change, default: 'short' })).expect(200);
  const elements = Array.from({ length: bounds.elements }, (_, at) => `${at}`.padEnd(255, 'e'));
  const choice = (name: string, list: string[]) =>
    key.post(`${collection}/attributes/enum`, { key: name, required: false, elements: list });
  (await choice('too-many', [...elements, 'one more'])).refused(400, 'general_argument_invalid');
  let kinds = 0;
  while ((await choice(`kind-${kinds}`, elements)).status === 202) kinds += 1;
  assert.equal(kinds, Math.floor((bounds.schemaBytes / 2 - 1000) / 25_900), 'enums until the rest is used up');
  // What every request to the collection reads and every document is given stays small.
  const made = (await guest.post(`${collection}/documents`, { documentId: 'a', data: {} })).expect(201);
  assert.ok(made.text.length < bounds.schemaBytes);
});

test('the description of the interface is made once, not for every guest', async () => {
  const ask = async () => {
    const started = performance.now();
    (await guest.get('/account')).expect(401);
    const plain = performance.now();
    const response = await fetch(`${target.origin}/openapi.json`, { headers: { 'X-Service-Project': 'main' } });
    await response.arrayBuffer();
    return { plain: plain - started, described: performance.now() - plain };
  };
  const times = [];
  for (let at = 0; at < 15; at++) times.push(await ask());
  const median = (values: number[]) => values.sort((a, b) => a - b)[7] ?? 0;
  const described = median(times.map((one) => one.described));
  const limit = Math.max(100, 8 * median(times.map(({ plain }) => plain)));
  assert.ok(described < limit, `${described} ms, at most ${limit}`);
});
