// Two servers over one database: what one of them ends, the other refuses at its next request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, aUser, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { asOperator, changeSettings } from '../harness/project.js';

const first = await startAppliance({ settings: { SVC_RATE_LIMITS: 'signup=1000/60,data=100000/60' } });
const second = await first.startSibling();
const unauthorised = 'general_unauthorized_scope';
/** The same user at the other server; both have just answered, so both know the session. */
async function atBoth(): Promise<{ user: LoggedInUser; there: Client }> {
  const user = await aLoggedInUser(first);
  const there = createClient(second, { session: user.secret });
  for (const client of [user.client, there]) (await client.get('/account')).expect(200);
  return { user, there };
}

test('a session that is ended on one is refused by the other', async () => {
  const { user, there } = await atBoth();
  (await user.client.delete('/account/sessions/current')).expect(204);
  (await there.get('/account')).refused(401, unauthorised);
});

test('so are all sessions, and those that a login pushes out', async () => {
  const { user, there } = await atBoth();
  (await there.delete('/account/sessions')).expect(204);
  (await user.client.get('/account')).refused(401, unauthorised);
  const oldest = await logIn(first, user);
  await Promise.all(Array.from({ length: 10 }, (_, index) => logIn(index % 2 === 0 ? first : second, user)));
  (await createClient(second, { session: oldest.secret }).get('/account')).refused(401, unauthorised);
  assert.equal((await rowsOf(first, 'sessions')).filter((row) => row.user_id === user.id).length, 10);
});

test('a user blocked on one is refused by the other, and admitted again after the block', async () => {
  const { user, there } = await atBoth();
  await asOperator(first, user.id, 'block');
  (await there.get('/account')).refused(403, 'user_blocked');
  const { email, password } = user;
  (await createClient(second).post('/account/sessions/email', { email, password })).refused(403, 'user_blocked');
  await asOperator(second, user.id, 'unblock');
  (await user.client.get('/account')).refused(401, unauthorised);
  await logIn(first, user);
});

test('a password that is changed on one ends the sessions at the other', async () => {
  const { user, there } = await atBoth();
  const other = await logIn(second, user);
  const change = { password: 'the new password', oldPassword: user.password };
  (await there.patch('/account/password', change)).expect(200);
  (await createClient(first, { session: other.secret }).get('/account')).refused(401, unauthorised);
  (await user.client.get('/account')).expect(200);
});

test('an account that is deleted on one is unknown to the other', async () => {
  const { user, there } = await atBoth();
  (await user.client.delete('/account')).expect(204);
  (await there.get('/account')).refused(401, unauthorised);
});

test('both count the same guesses', async () => {
  const { email, password } = await aUser(first);
  const statuses: number[] = [];
  for (let guess = 0; guess < 12; guess++) {
    const client = createClient(guess % 2 === 0 ? first : second);
    statuses.push((await client.post('/account/sessions/email', { email, password: 'a wrong one' })).status);
  }
  assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
  (await createClient(first).post('/account/sessions/email', { email, password })).expect(429);
  const { runtime, features } = second.appliance;
  const by = { projectId: first.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  await runtime.db.work(by, (unit) => features.limits.reset(unit, { projectId: first.project.id }));
  await logIn(first, { ...(await aUser(second)), email, password });
});

test('a server key that is revoked on one is refused by the other', async () => {
  const key = await aServerKey(first);
  const there = createClient(second, { key: key.secret });
  (await there.get('/project/platforms')).expect(200);
  const { runtime, features } = first.appliance;
  const by = { projectId: first.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  await runtime.db.work(by, (unit) => features.serverKeys.revoke(unit, key.id));
  (await there.get('/project/platforms')).refused(401, unauthorised);
});

test('settings and platforms of the one are those of the other within half a second', async () => {
  const origin = 'https://shared.example.com';
  const allowed = async () =>
    (await createClient(second).get('/account', { Origin: origin })).headers.get('Access-Control-Allow-Origin');
  assert.equal(await allowed(), null);
  const { client } = await aServerKey(first);
  (await client.post('/project/platforms/web', { hostname: 'shared.example.com' })).expect(201);
  await changeSettings(first, { 'session.limit': 1 });
  first.clock.advance(500);
  assert.equal(await allowed(), origin);
  const user = await aLoggedInUser(second);
  await logIn(second, user);
  (await user.client.get('/account')).refused(401, unauthorised);
});
