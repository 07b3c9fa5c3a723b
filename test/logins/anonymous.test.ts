// Anonymous accounts: how they begin, and how they become accounts with an address and a password.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { aContact } from './setup.js';

const target = await startAppliance();
const guest = createClient(target);
const path = '/account/sessions/anonymous';
const unauthorised = 'general_unauthorized_scope';
const page = 'http://localhost:3000';
const password = 'a fine password';

async function anonymous(client: Client = guest) {
  const answer = (await client.post(path)).expect(201);
  const secret = answer.string('secret');
  return {
    ...{ secret, sessionId: answer.string('$id'), userId: answer.string('userId') },
    client: createClient(target, { session: secret }),
  };
}

test('a login without anything makes an account without anything', async () => {
  const { value, recorded } = await recordedBy(target, () =>
    guest.post(path, undefined, { 'Accept-Language': 'de-AT, en;q=0.5' }),
  );
  const { provider, providerUid, factors, current } = value.expect(201).body;
  assert.deepEqual(
    { provider, providerUid, factors },
    { provider: 'anonymous', providerUid: '', factors: ['anonymous'] },
  );
  assert.equal(current, true);
  assert.deepEqual(recorded, { audit: ['accountCreated', 'sessionCreated'], events: ['sessionCreated'], messages: [] });
  const { body } = (await createClient(target, { session: value.string('secret') }).get('/account')).expect(200);
  assert.deepEqual(
    [body.$id, body.email, body.phone, body.name, body.passwordUpdate, body.targets, body.emailVerification],
    [value.body.userId, '', '', '', '', [], false],
  );
  const row = (await rowsOf(target, 'users')).find(({ id }) => id === body.$id);
  assert.equal(row?.locale, 'de-AT');
});

test('every such login is a new user, and ends the session of the browser', async () => {
  const browser = createClient(target, { browser: page });
  const [first, second] = [await anonymous(browser), await anonymous(browser)];
  assert.notEqual(first.userId, second.userId);
  (await first.client.get('/account')).refused(401, unauthorised);
  assert.equal((await browser.get('/account')).expect(200).string('$id'), second.userId);
});

test('a server key needs the scope', async () => {
  const able = await aServerKey(target, { scopes: ['sessions.write'] });
  assert.match((await able.client.post(path)).expect(201).string('secret'), /^ss_/);
  const unable = await aServerKey(target, { scopes: ['platforms.write'] });
  (await unable.client.post(path)).refused(401, unauthorised);
});

test('the upgrade keeps user and session, and replaces the secret', async () => {
  const { client, secret, sessionId, userId } = await anonymous();
  const email = aContact('email');
  const { value, recorded } = await recordedBy(target, () => client.patch('/account/email', { email, password }));
  value.expect(200);
  assert.deepEqual([value.body.$id, value.body.email, value.body.emailVerification], [userId, email, false]);
  assert.deepEqual(recorded, {
    audit: ['accountEmailChanged', 'accountPasswordChanged', 'sessionUpdated'],
    events: [],
    messages: [],
  });
  const renewed = value.headers.get('X-Service-Session') ?? '';
  assert.match(renewed, /^ss_[0-9a-f]{20}\.[A-Za-z0-9_-]{43}$/);
  assert.notEqual(renewed, secret);
  assert.equal(value.headers.get('X-Appwrite-Session'), renewed);
  assert.ok(!value.text.includes(renewed.split('.')[1] ?? ''));
  (await client.get('/account')).refused(401, unauthorised);
  const after = createClient(target, { session: renewed });
  const current = (await after.get('/account/sessions/current')).expect(200);
  assert.deepEqual([current.body.$id, current.body.userId, current.body.secret], [sessionId, userId, '']);
  const login = (await guest.post('/account/sessions/email', { email, password })).expect(201);
  assert.equal(login.string('userId'), userId);
});

test('in a browser the cookie is replaced, and no header shows the secret if the cookie is kept', async () => {
  const browser = createClient(target, { browser: page, headers: { 'Sec-Fetch-Site': 'same-site' } });
  const { secret, client, userId } = await anonymous(browser);
  const value = (await browser.patch('/account/email', { email: aContact('email'), password })).expect(200);
  assert.match(
    value.headers.get('Set-Cookie') ?? '',
    /^svc_main=ss_[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/,
  );
  for (const name of ['X-Service-Session', 'X-Appwrite-Session', 'X-Fallback-Cookies'])
    assert.equal(value.headers.get(name), null, name);
  assert.equal((await browser.get('/account')).expect(200).string('$id'), userId);
  assert.ok(!(value.headers.get('Set-Cookie') ?? '').includes(secret));
  (await client.get('/account')).refused(401, unauthorised);
});

test('if the browser withholds cookies, the fallback is replaced', async () => {
  const foreign = { Origin: page, 'Sec-Fetch-Site': 'cross-site' };
  const first = (await guest.post(path, undefined, foreign)).expect(201);
  const fallback = first.headers.get('X-Fallback-Cookies') ?? '';
  const change = { email: aContact('email'), password };
  const value = await guest.patch('/account/email', change, { ...foreign, 'X-Fallback-Cookies': fallback });
  const renewed = value.expect(200).headers.get('X-Fallback-Cookies') ?? '';
  assert.notEqual(renewed, fallback);
  const read = (held: string) => guest.get('/account', { ...foreign, 'X-Fallback-Cookies': held });
  (await read(renewed)).expect(200);
  (await read(fallback)).refused(401, unauthorised);
  const readable = value.headers.get('Access-Control-Expose-Headers') ?? '';
  for (const name of ['X-Service-Session', 'X-Appwrite-Session', 'X-Fallback-Cookies'])
    assert.ok(readable.split(', ').includes(name), readable);
});

test('the old secret is refused by another process too, at its next request', async () => {
  const sibling = await target.startSibling();
  const { client, secret } = await anonymous();
  const there = createClient(sibling, { session: secret });
  (await there.get('/account')).expect(200);
  (await client.patch('/account/email', { email: aContact('email'), password })).expect(200);
  (await there.get('/account')).refused(401, unauthorised);
});

test('an upgrade that is refused leaves account, session and secret as they were', async () => {
  const { client } = await anonymous();
  const { email } = await aUser(target);
  for (const [change, status, type] of [
    [{ email, password }, 409, 'user_email_already_exists'],
    [{ email: aContact('email'), password: 'short' }, 400, 'password_policy_violation'],
    [{ email: 'none', password }, 400, 'general_argument_invalid'],
  ] as const) {
    const { value, recorded } = await recordedBy(target, () => client.patch('/account/email', change));
    value.refused(status, type);
    assert.equal(value.headers.get('X-Service-Session'), null);
    assert.equal(value.headers.get('Set-Cookie'), null);
    assert.deepEqual(recorded, { audit: [], events: [], messages: [] });
  }
  assert.equal((await client.get('/account')).expect(200).body.email, '');
});

test('of two upgrades at once one succeeds, and its secret is the one that counts', async () => {
  for (let round = 0; round < 5; round++) {
    const { client, secret } = await anonymous();
    const answers = await Promise.all(
      [1, 2].map(() => client.patch('/account/email', { email: aContact('email'), password })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401]);
    const renewed = answers.find(({ status }) => status === 200)?.headers.get('X-Service-Session') ?? '';
    (await createClient(target, { session: renewed }).get('/account')).expect(200);
    (await createClient(target, { session: secret }).get('/account')).refused(401, unauthorised);
  }
});

test('a further change of address keeps the secret', async () => {
  const { client } = await anonymous();
  const value = (await client.patch('/account/email', { email: aContact('email'), password })).expect(200);
  const upgraded = createClient(target, { session: value.headers.get('X-Service-Session') ?? '' });
  const again = (await upgraded.patch('/account/email', { email: aContact('email'), password })).expect(200);
  assert.equal(again.headers.get('X-Service-Session'), null);
  (await upgraded.get('/account')).expect(200);
});
