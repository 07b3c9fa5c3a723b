// What users do with their own account: name, address, preferences, deletion.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aPerson, aServerKey, aUser, logIn, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';

const target = await startAppliance();
const guest = createClient(target);
const only = (audit: string, messages: string[] = []) => ({ audit: [audit], events: [], messages });

const routes: [string, string, unknown?][] = [
  ['GET', '/account'],
  ['DELETE', '/account'],
  ['PATCH', '/account/name', { name: 'New' }],
  ['PATCH', '/account/email', { email: 'a@mail.example', password: 'some password' }],
  ['PATCH', '/account/password', { password: 'some password', oldPassword: 'x' }],
  ['GET', '/account/prefs'],
  ['PATCH', '/account/prefs', { prefs: {} }],
  ['PATCH', '/account/status'],
  ['GET', '/account/sessions'],
  ['GET', '/account/sessions/current'],
  ['PATCH', '/account/sessions/current'],
  ['DELETE', '/account/sessions/current'],
  ['DELETE', '/account/sessions'],
];
for (const [method, path, body] of routes) {
  test(`${method} ${path} takes users, neither guests nor server keys`, async () => {
    for (const client of [guest, (await aServerKey(target)).client]) {
      const { value, recorded } = await recordedBy(target, () => client.request(method, path, body));
      value.refused(401, 'general_unauthorized_scope');
      assert.deepEqual(recorded, nothing);
    }
  });
}

test('the name changes, and nothing else', async () => {
  const { client } = await aLoggedInUser(target);
  const before = (await client.get('/account')).body;
  const { value, recorded } = await recordedBy(target, () => client.patch('/account/name', { name: 'Ada 🦄' }));
  assert.deepEqual(recorded, only('accountNameChanged'));
  const { name, $updatedAt, ...rest } = value.expect(200).body;
  assert.equal(name, 'Ada 🦄');
  assert.deepEqual({ ...before, ...rest }, before);
  assert.deepEqual((await client.get('/account')).body, value.body);
  for (const wrong of [{ name: 'n'.repeat(129) }, { name: null }, {}])
    (await client.patch('/account/name', wrong)).refused(400, 'general_argument_invalid');
});

test('the address changes with the password; the old address gets a mail', async () => {
  const { client, email, password } = await aLoggedInUser(target);
  const change = { email: `New-${email}`, password };
  const { value, recorded } = await recordedBy(target, () => client.patch('/account/email', change));
  assert.deepEqual(recorded, only('accountEmailChanged', ['email-changed']));
  assert.deepEqual([value.expect(200).body.email, value.body.emailVerification], [`new-${email}`, false]);
  assert.deepEqual(
    value.list('targets').map(({ identifier }) => identifier),
    [`new-${email}`],
  );
  (await guest.post('/account/sessions/email', { email, password })).refused(401, 'user_invalid_credentials');
  (await guest.post('/account/sessions/email', { email: `new-${email}`, password })).expect(201);
  (await guest.post('/account', { ...signUpBody(aPerson()), email })).expect(201);
});

test('the address stays without the password or where another user has it', async () => {
  const other = await aUser(target);
  const { client, email, password } = await aLoggedInUser(target);
  const attempts = [
    [{ email: 'free@mail.example', password: 'a wrong one' }, 401, 'user_invalid_credentials'],
    [{ email: 'free@mail.example' }, 400, 'general_argument_invalid'],
    [{ email: 'not an address', password }, 400, 'general_argument_invalid'],
    [{ email: other.email, password }, 409, 'user_email_already_exists'],
    [{ email: other.email.toUpperCase(), password }, 409, 'user_email_already_exists'],
  ] as const;
  for (const [body, status, type] of attempts) {
    const { value, recorded } = await recordedBy(target, () => client.patch('/account/email', body));
    value.refused(status, type);
    assert.deepEqual(recorded, nothing);
  }
  assert.equal((await client.get('/account')).body.email, email);
});

test('of users who take one address at the same moment one gets it', async () => {
  const users = await Promise.all(Array.from({ length: 6 }, () => aLoggedInUser(target)));
  const email = `${crypto.randomUUID()}@mail.example`;
  const { value: answers, recorded } = await recordedBy(target, () =>
    Promise.all(users.map(({ client, password }) => client.patch('/account/email', { email, password }))),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(5).fill(409)]);
  for (const answer of answers.filter(({ status }) => status === 409)) answer.refused(409, 'user_email_already_exists');
  assert.deepEqual(recorded, only('accountEmailChanged', ['email-changed']));
});

test('an account without a password gets its first one with its address', async () => {
  const { client, id } = await aLoggedInUser(target);
  await runSql(target, 'update users set password_hash = null, email = null where id = ?', [id]);
  const email = `${crypto.randomUUID()}@mail.example`;
  (await client.patch('/account/email', { email, password: 'short' })).refused(400, 'password_policy_violation');
  const change = { email, password: 'the first password' };
  const { recorded } = await recordedBy(target, async () => (await client.patch('/account/email', change)).expect(200));
  assert.deepEqual(recorded.audit, ['accountEmailChanged', 'accountPasswordChanged', 'sessionUpdated']);
  (await guest.post('/account/sessions/email', change)).expect(201);
});

test('preferences are replaced as a whole, and their content is in no record', async () => {
  const { client } = await aLoggedInUser(target);
  const first = { theme: 'dark', 'naïve "key"': { list: [1, null, { deep: true }] }, n: 9_007_199_254_740_991 };
  for (const prefs of [first, { other: 'unmistakable-value' }, {}]) {
    const { value, recorded } = await recordedBy(target, () => client.patch('/account/prefs', { prefs }));
    assert.deepEqual(value.expect(200).body.prefs, prefs);
    assert.deepEqual((await client.get('/account/prefs')).expect(200).body, prefs);
    assert.deepEqual(recorded, only('accountPrefsChanged'));
  }
  assert.doesNotMatch(JSON.stringify(await rowsOf(target, 'audit_entries')), /unmistakable-value/);
  for (const prefs of [['a'], 'text', null, undefined, 7])
    (await client.patch('/account/prefs', { prefs })).refused(400, 'general_argument_invalid');
});

test('preferences of 65535 bytes fit, one byte more does not', async () => {
  const { client } = await aLoggedInUser(target);
  const ofBytes = (bytes: number) => ({ prefs: { t: `${'é'.repeat((bytes - 9) / 2)}x` } });
  assert.equal(Buffer.byteLength(JSON.stringify(ofBytes(65_535).prefs)), 65_535);
  (await client.patch('/account/prefs', ofBytes(65_535))).expect(200);
  (await client.patch('/account/prefs', ofBytes(65_537))).refused(400, 'general_argument_invalid');
  (await client.patch('/account/prefs', ofBytes(82_001))).refused(413, 'general_body_too_large');
});

test('deleting the account ends everything of it and nothing of others', async () => {
  const user = await aLoggedInUser(target);
  const second = await logIn(target, user);
  const stranger = await aLoggedInUser(target);
  const { value, recorded } = await recordedBy(target, () => user.client.delete('/account'));
  assert.match(value.expect(204).headers.get('Set-Cookie') ?? '', /Max-Age=0/);
  const ended = ['sessionDeleted', 'sessionDeleted'];
  assert.deepEqual(recorded, { audit: ['accountDeleted', ...ended], events: ended, messages: [] });
  for (const { client } of [user, second]) (await client.get('/account')).refused(401, 'general_unauthorized_scope');
  const { email, password } = user;
  (await guest.post('/account/sessions/email', { email, password })).refused(401, 'user_invalid_credentials');
  (await guest.post('/account', signUpBody(user))).refused(409, 'user_already_exists');
  (await guest.post('/account', signUpBody({ ...user, id: `${user.id}-again` }))).expect(201);
  (await stranger.client.get('/account')).expect(200);
  assert.ok(!(await rowsOf(target, 'sessions')).some((row) => row.user_id === user.id));
});

test('deleting the account needs a login not older than 20 minutes', async () => {
  const user = await aLoggedInUser(target);
  target.clock.advance(20 * minute + 1000);
  const { value, recorded } = await recordedBy(target, () => user.client.delete('/account'));
  value.refused(401, 'user_challenge_required');
  assert.deepEqual(recorded, nothing);
  (await user.client.patch('/account/sessions/current')).expect(200);
  (await user.client.delete('/account')).refused(401, 'user_challenge_required');
  (await (await logIn(target, user)).client.delete('/account')).expect(204);
});
