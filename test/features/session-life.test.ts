// How long sessions live, how many a user has, and what a new login ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aUser, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { day, hour, minute } from '../harness/clock.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';

const target = await startAppliance();
const unauthorised = 'general_unauthorized_scope';
const alive = async ({ client }: LoggedInUser) => (await client.get('/account')).expect(200);
const dead = async ({ client }: LoggedInUser) => (await client.get('/account')).refused(401, unauthorised);

test('a session lives 30 days', async () => {
  const user = await aLoggedInUser(target);
  const { expire, $createdAt } = (await user.client.get('/account/sessions/current')).body;
  const life = Date.parse(String(expire)) - Date.parse(String($createdAt));
  assert.ok(life >= 30 * day && life < 30 * day + 1000, String(life));
  target.clock.advance(30 * day - minute);
  await alive(user);
  target.clock.advance(minute);
  await dead(user);
  const again = await logIn(target, user);
  assert.equal((await again.client.get('/account/sessions')).body.total, 1);
});

test('how long is a setting of the installation and of the project', async () => {
  const own = await startAppliance({ settings: { SVC_SESSION_DAYS: '3' } });
  const users = [await aLoggedInUser(own)];
  await changeSettings(own, { 'session.days': 1 });
  users.push(await aLoggedInUser(own));
  for (const user of users) await alive(user);
  own.clock.advance(day);
  assert.deepEqual(
    await Promise.all(users.map(async ({ client }) => (await client.get('/account')).status)),
    [200, 401],
  );
  own.clock.advance(2 * day);
  for (const user of users) await dead(user);
});

test('an idle limit ends unused sessions only', async () => {
  const own = await startAppliance({ settings: { SVC_SESSION_IDLE_DAYS: '2' } });
  const [used, unused] = [await aLoggedInUser(own), await aLoggedInUser(own)];
  for (let days = 0; days < 4; days++) {
    own.clock.advance(day);
    await alive(used);
  }
  await dead(unused);
  await changeSettings(own, { 'session.idleDays': 1 });
  own.clock.advance(day + hour);
  await dead(used);
});

test('the eleventh login ends the oldest session', async () => {
  const first = await aLoggedInUser(target);
  const rest: LoggedInUser[] = [];
  for (let count = 0; count < 9; count++) rest.push(await logIn(target, first));
  await alive(first);
  const { value: eleventh, recorded } = await recordedBy(target, () => logIn(target, first));
  assert.deepEqual(recorded.events, ['sessionCreated', 'sessionDeleted']);
  assert.deepEqual(recorded.audit, ['sessionCreated', 'sessionDeleted']);
  await dead(first);
  for (const session of [...rest, eleventh]) await alive(session);
});

test('of twenty parallel logins ten remain', async () => {
  const user = await aUser(target);
  const { value: sessions, recorded } = await recordedBy(target, () =>
    Promise.all(Array.from({ length: 20 }, () => logIn(target, user))),
  );
  const statuses = await Promise.all(sessions.map(async ({ client }) => (await client.get('/account')).status));
  assert.deepEqual(statuses.sort(), [...Array(10).fill(200), ...Array(10).fill(401)]);
  const count = (event: string) => recorded.events.filter((name) => name === event).length;
  assert.deepEqual([count('sessionCreated'), count('sessionDeleted')], [20, 10]);
  const rows = await rowsOf(target, 'sessions', target.project.id);
  assert.equal(rows.filter((row) => row.user_id === user.id).length, 10);
});

test('how many is a setting of the project', async () => {
  await changeSettings(target, { 'session.limit': 2 });
  const first = await aLoggedInUser(target);
  const second = await logIn(target, first);
  const third = await logIn(target, first);
  await dead(first);
  await alive(second);
  await alive(third);
  await changeSettings(target, { 'session.limit': 10 });
});

test('a login ends the session that the same browser held, of whichever user', async () => {
  const browser = createClient(target, { browser: 'http://localhost:3000' });
  const [ada, bob] = [await aUser(target), await aUser(target)];
  const enter = async ({ email, password }: typeof ada) =>
    (await browser.post('/account/sessions/email', { email, password })).expect(201).string('secret');
  const secrets = [await enter(ada)];
  const { recorded } = await recordedBy(target, async () => secrets.push(await enter(ada)));
  assert.deepEqual(recorded.events, ['sessionCreated', 'sessionDeleted']);
  secrets.push(await enter(bob));
  assert.equal(new Set(secrets).size, 3);
  const statuses: number[] = [];
  for (const session of secrets) statuses.push((await createClient(target, { session }).get('/account')).status);
  assert.deepEqual(statuses, [401, 401, 200]);
  assert.equal((await browser.get('/account')).expect(200).body.$id, bob.id);
});

test('a login with a session in the header ends that session', async () => {
  const user = await aLoggedInUser(target);
  (await user.client.post('/account/sessions/email', { email: user.email, password: user.password })).expect(201);
  await dead(user);
});

test('a secret that the client made up is never adopted', async () => {
  const made = `ss_${'a'.repeat(20)}.${'A'.repeat(43)}`;
  const { email, password } = await aUser(target);
  const client = createClient(target, { headers: { Cookie: `svc_main=${made}`, Origin: 'http://localhost:3000' } });
  const answer = (await client.post('/account/sessions/email', { email, password })).expect(201);
  assert.notEqual(answer.string('secret'), made);
  await dead({ ...(await aLoggedInUser(target)), client: createClient(target, { session: made }) });
});

test('the last use of a session is kept to the hour, that of a user to the day', async () => {
  const user = await aLoggedInUser(target);
  const stored = async () => {
    const rows = await rowsOf(target, 'sessions', target.project.id);
    return String(rows.find((row) => row.id === user.sessionId)?.accessed_at);
  };
  const first = await stored();
  target.clock.advance(30 * minute);
  await alive(user);
  assert.equal(await stored(), first);
  target.clock.advance(31 * minute);
  await alive(user);
  assert.ok((await stored()) > first);
  const accessed = (await user.client.get('/account')).string('accessedAt');
  target.clock.advance(25 * hour);
  await alive(user);
  assert.ok((await user.client.get('/account')).string('accessedAt') > accessed);
});

test('extending a session never takes it past a year from its beginning, or past the limit of the project', async () => {
  const own = await startAppliance();
  const first = await aLoggedInUser(own);
  const extended = async ({ client }: LoggedInUser) => {
    const { expire, $createdAt } = (await client.patch('/account/sessions/current')).expect(200).body;
    return (Date.parse(String(expire)) - Date.parse(String($createdAt))) / day;
  };
  for (let days = 20; days < 360; days += 20) {
    own.clock.advance(20 * day);
    assert.ok((await extended(first)) <= 365);
  }
  assert.equal(await extended(first), 365);
  own.clock.advance(25 * day);
  (await first.client.get('/account')).refused(401, unauthorised);
  const second = await logIn(own, first);
  await changeSettings(own, { 'session.maxDays': 40 });
  own.clock.advance(25 * day);
  assert.equal(await extended(second), 40);
  await changeSettings(own, { 'session.maxDays': 10 });
  const { expire, $createdAt } = (await (await logIn(own, first)).client.get('/account/sessions/current')).body;
  assert.equal(Date.parse(String(expire)) - Date.parse(String($createdAt)), 10 * day);
});
