// Login by email address and password.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, aUser, logIn } from '../harness/actors.js';
import { cheapHashes, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { recordedBy, rowsOf, runSql } from '../harness/database.js';
import { asOperator } from '../harness/project.js';
import { openSealed } from '../harness/sealed.js';

const target = await startAppliance();
const guest = createClient(target);
const path = '/account/sessions/email';

async function unknown() {
  return { email: `${crypto.randomUUID()}@mail.example`, password: 'some password' };
}
async function wrong() {
  return { email: (await aUser(target)).email, password: 'a wrong password' };
}
async function withoutPassword() {
  const { id, email, password } = await aUser(target);
  await runSql(target, 'update users set password_hash = null where id = ?', [id]);
  return { email, password };
}
async function blockedAndWrong() {
  const { id, email } = await aUser(target);
  await asOperator(target, id, 'block');
  return { email, password: 'a wrong password' };
}
async function ofAnotherProject() {
  const { email, password } = await aUser(target, {}, { project: target.neighbour.id });
  return { email, password };
}

const failures = [
  ['an unknown address', unknown, 'unknown address'],
  ['a wrong password', wrong, 'wrong password'],
  ['a user without a password', withoutPassword, 'wrong password'],
  ['a blocked user and a wrong password', blockedAndWrong, 'wrong password'],
  ['a user of another project', ofAnotherProject, 'unknown address'],
] as const;

/** What a client can see of an answer, without what differs from call to call. */
function visible(answer: Answer) {
  const changing = ['x-request-id', 'date', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit'];
  const headers = [...answer.headers].filter(([name]) => !changing.includes(name));
  return { status: answer.status, text: answer.text, headers };
}

for (const [name, credentials, reason] of failures) {
  test(`a login with ${name} is refused like any other, and the log of audits knows why`, async () => {
    const given = await credentials();
    const { value: answer, recorded } = await recordedBy(target, () => guest.post(path, given));
    answer.refused(401, 'user_invalid_credentials');
    assert.deepEqual(recorded, { audit: ['loginFailed'], events: [], messages: [] });
    const entries = await rowsOf(target, 'audit_entries', target.project.id);
    const entry = entries.find(({ request_id }) => request_id === answer.headers.get('X-Request-Id'));
    assert.equal(JSON.parse(String(entry?.data)).reason, reason);
    assert.deepEqual(visible(answer), visible(await guest.post(path, await wrong())));
  });
}

test('a login opens a session, which is announced without its secret', async () => {
  const user = await aUser(target);
  const { email, password } = user;
  const { value: answer, recorded } = await recordedBy(target, () => guest.post(path, { email, password }));
  answer.expect(201);
  assert.deepEqual(recorded, { audit: ['sessionCreated'], events: ['sessionCreated'], messages: [] });
  assert.match(answer.string('secret'), /^ss_[0-9a-f]{20}\.[A-Za-z0-9_-]{43}$/);
  const { userId, provider, providerUid, factors, current, ip } = answer.body;
  assert.deepEqual(
    { userId, provider, providerUid, factors, current, ip },
    { userId: user.id, provider: 'email', providerUid: email, factors: ['password'], current: true, ip: '127.0.0.1' },
  );
  assert.equal(answer.headers.get('Cache-Control'), 'no-store');
  const events = await rowsOf(target, 'events', target.project.id);
  const event = events.map(({ data }) => JSON.parse(String(data))).find(({ $id }) => $id === answer.body.$id);
  assert.deepEqual({ ...event, secret: '', current: false }, { ...answer.body, secret: '', current: false });
  assert.equal(event.secret, '');
});

test('the address may be written in any case, the password may not', async () => {
  const { email, password } = await aUser(target);
  (await guest.post(path, { email: email.toUpperCase(), password })).expect(201);
  (await guest.post(path, { email, password: password.toUpperCase() })).refused(401, 'user_invalid_credentials');
});

test('the old path of the SDK is the same operation', async () => {
  const { email, password } = await aUser(target);
  (await guest.post('/account/sessions', { email, password })).expect(201);
  const metrics = (await guest.get('//metrics')).text;
  assert.match(metrics, /svc_http_requests_total\{method="POST",route="account.createEmailSession",status="201"\}/);
});

test('a blocked user with the right password learns of the block', async () => {
  const { id, email, password } = await aUser(target);
  await asOperator(target, id, 'block');
  const { value: answer, recorded } = await recordedBy(target, () => guest.post(path, { email, password }));
  answer.refused(403, 'user_blocked');
  assert.deepEqual(recorded, { audit: ['loginFailed'], events: [], messages: [] });
  await asOperator(target, id, 'unblock');
  (await guest.post(path, { email, password })).expect(201);
});

test('a server key logs users in when it has the scope', async () => {
  const { email, password } = await aUser(target);
  const { client } = await aServerKey(target, { scopes: ['sessions.write'] });
  assert.match((await client.post(path, { email, password })).expect(201).string('secret'), /^ss_/);
  const unable = await aServerKey(target, { scopes: ['platforms.write'] });
  (await unable.client.post(path, { email, password })).refused(401, 'general_unauthorized_scope');
});

test('an over-long password or a missing one is refused before anything is hashed', async () => {
  const { email } = await aUser(target);
  (await guest.post(path, { email, password: 'x'.repeat(257) })).refused(400, 'general_argument_invalid');
  (await guest.post(path, { email })).refused(400, 'general_argument_invalid');
  (await guest.post(path, { email, password: { $ne: '' } })).refused(400, 'general_argument_invalid');
});

test('a login with new hash parameters replaces the hash, once, and so does another algorithm', async () => {
  const stored = async (id: string) => {
    const row = (await rowsOf(target, 'users', target.project.id)).find((user) => user.id === id);
    return openSealed(target, target.project, ['users', 'password_hash', id], row?.password_hash);
  };
  const stronger = { ...cheapHashes, scrypt: { logN: 11, r: 8, p: 2 } };
  const steps: [string, RegExp, TestAppliance][] = [
    ['stronger scrypt', /^scrypt:/, await target.startSibling({ hashParameters: stronger })],
    [
      'argon2id',
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/,
      await target.startSibling({ settings: { SVC_PASSWORD_HASH: 'argon2id' } }),
    ],
    ['scrypt again', /^scrypt:/, target],
  ];
  const user = await aUser(target);
  for (const [name, form, server] of steps) {
    const before = await stored(user.id);
    await logIn(server, user);
    const after = await stored(user.id);
    assert.notEqual(after, before, name);
    assert.match(after, form);
    await logIn(server, user);
    assert.equal(await stored(user.id), after, name);
  }
});

test('parallel logins that meet a hash of old parameters all succeed', async () => {
  const sibling = await target.startSibling({ hashParameters: { ...cheapHashes, scrypt: { logN: 10, r: 8, p: 2 } } });
  const user = await aLoggedInUser(target);
  await Promise.all(Array.from({ length: 4 }, () => logIn(sibling, user)));
});

test('logins beyond the capacity of the hash queue get 503 with Retry-After', async () => {
  // Slow enough that all of them meet, and that those of a whole queue do not wait for the 5 s after which they are refused too.
  const slow = await target.startSibling({ hashParameters: { ...cheapHashes, scrypt: { logN: 13, r: 8, p: 1 } } });
  const client = createClient(slow);
  const answers = await Promise.all(Array.from({ length: 80 }, async () => client.post(path, await unknown())));
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)].sort(), [401, 503]);
  assert.ok(statuses.filter((status) => status === 401).length >= 32);
  const busy = answers.find(({ status }) => status === 503);
  assert.ok(Number(busy?.refused(503, 'general_unavailable').headers.get('Retry-After')) >= 1);
});
