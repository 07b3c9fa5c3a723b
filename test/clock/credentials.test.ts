// What proves who somebody is, while the clock is set: nothing is good for longer than it could be, and nobody stays locked out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, aUser, logIn } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { createTestClock, day, hour, minute } from '../harness/clock.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';
import { aBearer, mint } from '../jwt/setup.js';
import { aContact, askAndRead, redeemPath, sentLogins } from '../logins/setup.js';
import { aGuardedUser, halfLogin, pendingOf } from '../second-factor/people.js';
import { accept, aTeam, invite } from '../teams/setup.js';

const years = 25 * 365 * day;
const refused = 'general_unauthorized_scope';
const read = (target: TestAppliance, session: string) => createClient(target, { session }).get('/account');
const [link, code] = sentLogins;
assert.ok(link && code);

test('a session from before a step back goes on; one that ends later than any can is refused, not deleted', async () => {
  const target = await startAppliance();
  const { clock } = target;
  const before = await aLoggedInUser(target);
  clock.step(years);
  (await read(target, before.secret)).refused(401, refused);
  const wrong = await logIn(target, before);
  clock.step(-years);
  (await read(target, before.secret)).expect(200);
  (await read(target, wrong.secret)).refused(401, refused);
  await target.appliance.features.jobs.tick('sessions.expire');
  assert.equal((await rowsOf(target, 'sessions')).length, 2);

  clock.step(-120 * day);
  (await read(target, before.secret)).expect(200);
  const meanwhile = await logIn(target, before);
  (await read(target, meanwhile.secret)).expect(200);
  clock.step(120 * day);
  (await read(target, before.secret)).expect(200);
  clock.step(years);
  (await read(target, wrong.secret)).expect(200);
});

test('ends sessions with future times first if a user has too many', async () => {
  const target = await startAppliance();
  await changeSettings(target, { 'session.limit': 3 });
  const user = await aUser(target);
  target.clock.step(30 * day);
  const ahead = [await logIn(target, user), await logIn(target, user), await logIn(target, user)];
  target.clock.step(-30 * day);
  const now = [await logIn(target, user), await logIn(target, user)];
  for (const { secret } of now) (await read(target, secret)).expect(200);
  const left = await Promise.all(ahead.map(({ secret }) => read(target, secret)));
  assert.deepEqual(
    left.map(({ status }) => status),
    [401, 401, 200],
  );
});

test('the last use of sessions, users and keys is noted again after a step back, and idle sessions end', async () => {
  const target = await startAppliance();
  await changeSettings(target, { 'session.idleDays': 2 });
  target.clock.step(10 * day);
  const user = await aLoggedInUser(target);
  const { id, client } = await aServerKey(target);
  (await client.get('/users')).expect(200);
  target.clock.step(-10 * day);
  (await read(target, user.secret)).expect(200);
  (await client.get('/users')).expect(200);
  const limit = new Date(target.clock.now()).toISOString();
  const [session, account] = [(await rowsOf(target, 'sessions'))[0], (await rowsOf(target, 'users'))[0]];
  const key = (await rowsOf(target, 'api_keys')).find((row) => row.id === id);
  for (const row of [session, account, key]) assert.ok(String(row?.accessed_at) <= limit, String(row?.accessed_at));
  target.clock.advance(2 * day + minute);
  (await read(target, user.secret)).refused(401, refused);
});

test('a proof of self that lies ahead is none', async () => {
  const target = await startAppliance();
  const user = await aGuardedUser(target);
  const act = async () => user.client.delete('/account/mfa/authenticators/totp');
  target.clock.step(-6 * hour);
  (await act()).refused(401, 'user_challenge_required');
  target.clock.step(6 * hour);
  (await act()).expect(204);
});

test('codes, links and challenges that were made ahead are refused; others can be had at once', async () => {
  const target = await startAppliance();
  const redeem = (given: object) => createClient(target).post(redeemPath, given);
  for (const way of [link, code]) {
    const ahead = await askAndRead(target, way, aContact('email'));
    target.clock.step(-6 * hour);
    (await redeem(ahead)).refused(401, 'user_invalid_token');
    (await redeem(await askAndRead(target, way, aContact('email')))).expect(201);
    target.clock.step(6 * hour);
  }
  const again = await askAndRead(target, code, aContact('email'));
  target.clock.step(-6 * hour);
  (await redeem(again)).refused(401, 'user_invalid_token');
  target.clock.step(6 * hour);
  (await redeem(again)).expect(201);
});

test('between two processes ten minutes apart a code of the one ahead is good at the other', async () => {
  const target = await startAppliance();
  const clock = createTestClock();
  clock.advance(10 * minute);
  const ahead = await target.startSibling({ clock });
  const given = await askAndRead(ahead, code, 'apart@mail.example');
  (await createClient(target).post(redeemPath, given)).expect(201);
  const session = await aLoggedInUser(ahead);
  (await read(target, session.secret)).expect(200);
});

test('codes of authenticator apps are accepted after a step back, each once, and a waiting login ends', async () => {
  const target = await startAppliance();
  const user = await aGuardedUser(target);
  const { email, password, app } = user;
  const withCode = (otp: string) => createClient(target).post('/account/sessions/email', { email, password, otp });
  (await withCode(app.nextCode())).expect(201);
  const pending = pendingOf(await halfLogin(target, user)).secret;
  target.clock.step(-6 * hour);
  const waiting = createClient(target, { session: pending });
  (await waiting.get('/account/mfa/factors')).refused(401, refused);
  const otp = app.code();
  (await withCode(otp)).expect(201);
  (await withCode(otp)).refused(401, 'user_invalid_token');
  (await withCode(app.nextCode())).expect(201);
  target.clock.step(6 * hour);
  (await withCode(app.nextCode())).expect(201);
});

test('a JWT that was issued ahead is refused until the clock has caught up; a new one is good at once', async () => {
  const target = await startAppliance();
  const user = await aBearer(target);
  for (const step of [6 * hour, 120 * day]) {
    target.clock.step(-step);
    (await user.bearer.get('/account')).refused(401, 'user_jwt_invalid');
    (await createClient(target, { jwt: await mint(user.client) }).get('/account')).expect(200);
    target.clock.step(step);
    (await user.bearer.get('/account')).expect(200);
  }
  target.clock.step(2 * day);
  (await user.bearer.get('/account')).refused(401, 'user_jwt_invalid');
});

test('an invitation with a future time logs no user in, and admits a user who is logged in', async () => {
  const target = await startAppliance();
  const team = await aTeam(target);
  target.clock.step(30 * day);
  const fresh = await logIn(target, team.owner);
  const given = await invite(target, { ...team, owner: fresh }, 'invited@mail.example');
  target.clock.step(-30 * day);
  (await accept(createClient(target), given)).refused(401, 'team_invalid_secret');
  const again = await invite(target, team, 'another@mail.example');
  (await accept(createClient(target), again)).expect(200);
});

test('a key rotation with a future time is rescheduled: a key signs for its period, not until the clock has caught up', async () => {
  const target = await startAppliance();
  const { signingKeys, jobs } = target.appliance.features;
  const bearer = await aBearer(target, { alg: 'RS256' });
  target.clock.step(years);
  for (const job of ['keys.rotate', 'clock.settle']) await jobs.tick(job);
  const states = async () =>
    (await signingKeys.status(target.project)).map(({ state, signsFrom }) => [
      state,
      Date.parse(signsFrom) - target.clock.now() < hour,
    ]);
  assert.deepEqual(await states(), [
    ['next', true],
    ['current', true],
  ]);
  target.clock.step(-years);
  (await bearer.bearer.get('/account')).expect(200);
  assert.deepEqual(await states(), [
    ['next', false],
    ['current', true],
  ]);
  await jobs.tick('clock.settle');
  assert.deepEqual(await states(), [
    ['next', true],
    ['current', true],
  ]);
  target.clock.advance(11 * minute);
  assert.deepEqual(await states(), [
    ['current', true],
    ['retired', true],
  ]);
  (await bearer.bearer.get('/account')).expect(200);
  target.clock.advance(71 * minute);
  await jobs.run('keys.rotate');
  assert.deepEqual(await states(), [['current', true]]);
  target.clock.advance(90 * day);
  await jobs.run('keys.rotate');
  assert.deepEqual(
    (await states()).map(([state]) => state),
    ['next', 'current'],
  );
});

test('a browser that logged in ahead is no new one', async () => {
  const target = await startAppliance();
  await changeSettings(target, { 'session.alerts': true });
  const user = await aLoggedInUser(target);
  target.clock.step(-6 * hour);
  assert.deepEqual((await recordedBy(target, () => logIn(target, user))).recorded.messages, []);
  target.clock.step(-years);
  assert.deepEqual((await recordedBy(target, () => logIn(target, user))).recorded.messages, ['new-device']);
});
