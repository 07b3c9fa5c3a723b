// A login that lacks its second factor: what it may call, what it may not, and how it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { asOperator, changeSettings } from '../harness/project.js';
import { aGuardedUser, aPendingClient, type Guarded, halfLogin, pendingOf } from './people.js';

const target = await startAppliance();
const guest = createClient(target);
const user = await aGuardedUser(target);

/** All that it may call. */
const open = [
  'DELETE /account/sessions/{sessionId}',
  'GET /account/mfa/factors',
  // The pages of it, whose forms are posted as such.
  'POST /auth/second-factor',
  'POST /auth/challenge',
  'POST /auth/sign-out',
  'POST /account/mfa/challenge',
  'POST /account/mfa/challenges',
  'PUT /account/mfa/challenge',
  'PUT /account/mfa/challenges',
];

type Operation = { name: string; method: string; path: string; callers: ('guest' | 'user' | 'key')[] };
type Described = { paths: Record<string, Record<string, { security: Record<string, unknown>[] }>> };
const document = (await guest.get('/openapi.json')).expect(200).body as unknown as Described;
const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { security }]) => ({
    ...{ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase() },
    path: path.replace(/\{[^}]+\}/g, 'some-id'),
    callers: security.map((kind) => ('session' in kind || 'jwt' in kind ? 'user' : 'key' in kind ? 'key' : 'guest')),
  })),
);
const formType = 'application/x-www-form-urlencoded';
const body = (method: string) => (method === 'GET' ? undefined : {});
const told = async (client: Client, { method, path }: Operation) => {
  const form = method === 'POST' && path.startsWith('/auth/');
  const { status, text } = form
    ? await client.request(method, `${path}?project=main`, 'a=b', { 'Content-Type': formType })
    : await client.request(method, path, body(method));
  return { status, type: text.startsWith('{') ? JSON.parse(text).type : undefined };
};

for (const operation of operations.filter(({ name }) => !open.includes(name))) {
  test(`${operation.name} does not accept it as a login`, async () => {
    const answer = await told(await aPendingClient(target, user), operation);
    if (operation.callers.includes('guest')) assert.deepEqual(answer, await told(guest, operation));
    else if (operation.callers.includes('user'))
      assert.deepEqual(answer, { status: 401, type: 'user_more_factors_required' });
    else assert.deepEqual(answer, { status: 401, type: 'general_unauthorized_scope' });
  });
}

for (const name of open) {
  test(`${name} answers it`, async () => {
    const operation = operations.find((one) => one.name === name);
    assert.ok(operation, 'there is no such operation');
    const path = operation.path.replace('some-id', 'current');
    const { type } = await told(await aPendingClient(target, user), { ...operation, path });
    assert.ok([undefined, 'general_argument_invalid', 'user_invalid_token'].includes(type), String(type));
  });
}

test('the table has seen every kind of operation', () => {
  for (const caller of ['guest', 'user', 'key'] as const)
    assert.ok(
      operations.some(({ callers }) => callers.includes(caller)),
      caller,
    );
  assert.ok(operations.length > 60, String(operations.length));
});

test('GraphQL and documents see a guest', async () => {
  const pending = await aPendingClient(target, user);
  const query = { query: '{ documentList(databaseId: "a", collectionId: "b") { total } }' };
  assert.equal((await pending.post('/graphql', query)).text, (await guest.post('/graphql', query)).text);
});

test('it is not listed, does not count, and leaves no event from its beginning to its end', async () => {
  await changeSettings(target, { 'session.limit': 2 });
  target.clock.advance(500);
  const someone = await aGuardedUser(target);
  const { recorded } = await recordedBy(target, async () => {
    for (let login = 0; login < 3; login++) await halfLogin(target, someone);
    const { total } = (await someone.client.get('/account/sessions')).expect(200).body;
    assert.equal(total, 1);
    const pending = await aPendingClient(target, someone);
    const { value, recorded: ending } = await recordedBy(target, () => pending.delete('/account/sessions/current'));
    value.expect(204);
    assert.deepEqual(ending, nothing);
    (await pending.get('/account/mfa/factors')).refused(401, 'general_unauthorized_scope');
  });
  assert.deepEqual(recorded, { audit: Array(4).fill('loginPending'), events: [], messages: [] });
  const rows = (await rowsOf(target, 'sessions')).filter(({ user_id }) => user_id === someone.id);
  assert.ok(rows.length <= 3, 'a user has no more of them than sessions');
  await changeSettings(target, { 'session.limit': 10 });
  target.clock.advance(500);
});

test('it can end itself and no other session', async () => {
  const someone = await aGuardedUser(target);
  const pending = await aPendingClient(target, someone);
  for (const id of [someone.sessionId, 'no-such-session'])
    (await pending.delete(`/account/sessions/${id}`)).refused(401, 'user_more_factors_required');
  (await someone.client.get('/account')).expect(200);
});

test('it lasts ten minutes, and its end is no event', async () => {
  const pending = await aPendingClient(target, user);
  target.clock.advance(599_000);
  (await pending.get('/account/mfa/factors')).expect(200);
  target.clock.advance(2_000);
  (await pending.get('/account/mfa/factors')).refused(401, 'general_unauthorized_scope');
  const { recorded } = await recordedBy(target, () => target.appliance.features.jobs.run('sessions.expire'));
  assert.deepEqual(recorded, nothing);
  assert.ok(!(await rowsOf(target, 'sessions')).some((row) => row.pending === 1));
});

test('logging in again in the same browser replaces it', async () => {
  const browser = createClient(target, { browser: 'http://localhost:3000' });
  const someone = await aGuardedUser(target);
  const { email, password } = someone;
  const first = await browser.post('/account/sessions/email', { email, password });
  (await browser.get('/account/mfa/factors')).expect(200);
  const second = await browser.post('/account/sessions/email', { email, password });
  (await browser.get('/account/mfa/factors')).expect(200);
  const old = createClient(target, { session: pendingOf(first).secret });
  (await old.get('/account/mfa/factors')).refused(401, 'general_unauthorized_scope');
  assert.notEqual(pendingOf(first).secret, pendingOf(second).secret);
  const otp = someone.app.nextCode();
  (await browser.post('/account/sessions/email', { email, password, otp })).expect(201);
  assert.equal((await browser.get('/account')).expect(200).body.$id, someone.id);
});

test('another user logs in over it', async () => {
  const other = await aLoggedInUser(target);
  const pending = await aPendingClient(target, user);
  const { email, password } = other;
  const { value, recorded } = await recordedBy(target, () =>
    pending.post('/account/sessions/email', { email, password }),
  );
  value.expect(201);
  assert.deepEqual(recorded, { audit: ['sessionCreated'], events: ['sessionCreated'], messages: [] });
  (await pending.get('/account/mfa/factors')).refused(401, 'general_unauthorized_scope');
});

const endings: [string, (user: Guarded) => Promise<unknown>, number, string][] = [
  [
    'a new password',
    async ({ client, password }) =>
      (await client.patch('/account/password', { password: 'another fine one', oldPassword: password })).expect(200),
    ...([401, 'general_unauthorized_scope'] as const),
  ],
  [
    'ending every session',
    async ({ client }) => (await client.delete('/account/sessions')).expect(204),
    401,
    'general_unauthorized_scope',
  ],
  [
    'deleting the account',
    async ({ client }) => (await client.delete('/account')).expect(204),
    401,
    'general_unauthorized_scope',
  ],
  ['a block', ({ id }) => asOperator(target, id, 'block'), 403, 'user_blocked'],
  [
    'removing the authenticator',
    async ({ client }) => (await client.delete('/account/mfa/authenticators/totp')).expect(204),
    ...([401, 'general_unauthorized_scope'] as const),
  ],
  [
    'new recovery codes',
    async ({ client }) => (await client.patch('/account/mfa/recovery-codes')).expect(200),
    ...([401, 'general_unauthorized_scope'] as const),
  ],
  [
    'turning the second factor off',
    async ({ client }) => (await client.patch('/account/mfa', { mfa: false })).expect(200),
    ...([401, 'general_unauthorized_scope'] as const),
  ],
];
for (const [name, act, status, type] of endings) {
  test(`${name} ends it`, async () => {
    const someone = await aGuardedUser(target);
    const pending = await aPendingClient(target, someone);
    await act(someone);
    const answer = await pending.get('/account/mfa/factors');
    assert.deepEqual([answer.status, answer.body.type], [status, type]);
  });
}
