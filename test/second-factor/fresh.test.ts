// Changes of factors and deletions need a login or a challenge not older than 20 minutes; the first factor does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { aGuardedUser, scan, verify } from './people.js';

const target = await startAppliance();

/** Somebody whose second factor is the mailbox. */
async function aMailGuardedUser(): Promise<LoggedInUser> {
  const user = await aLoggedInUser(target);
  await verify(target, user.id, 'email');
  (await user.client.patch('/account/mfa', { mfa: true })).expect(200);
  return user;
}

const changes: [string, () => Promise<LoggedInUser>, string, string, unknown, number][] = [
  [
    'removing the authenticator',
    () => aGuardedUser(target),
    'DELETE',
    '/account/mfa/authenticators/totp',
    undefined,
    204,
  ],
  ['turning the second factor off', () => aGuardedUser(target), 'PATCH', '/account/mfa', { mfa: false }, 200],
  ['looking at the recovery codes', () => aGuardedUser(target), 'GET', '/account/mfa/recovery-codes', undefined, 200],
  ['new recovery codes', () => aGuardedUser(target), 'PATCH', '/account/mfa/recovery-codes', undefined, 200],
  ['deleting the account', () => aGuardedUser(target), 'DELETE', '/account', undefined, 204],
  ['a further factor', aMailGuardedUser, 'POST', '/account/mfa/totp', undefined, 200],
  ["a further factor by the SDK's route", aMailGuardedUser, 'POST', '/account/mfa/authenticators/totp', undefined, 200],
  ['first recovery codes beside a factor', aMailGuardedUser, 'POST', '/account/mfa/recovery-codes', undefined, 201],
];
for (const [name, someone, method, path, body, status] of changes) {
  test(`${name} needs a fresh proof`, async () => {
    const user = await someone();
    target.clock.advance(20 * 60_000 + 2000);
    const { value, recorded } = await recordedBy(target, () => user.client.request(method, path, body));
    value.refused(401, 'user_challenge_required');
    assert.deepEqual(recorded, nothing);
  });
  test(`${name} is possible in the first 20 minutes`, async () => {
    const user = await someone();
    target.clock.advance(19 * 60_000);
    (await user.client.request(method, path, body)).expect(status);
  });
}

test('the proof of a further factor is asked for at its end too', async () => {
  const user = await aMailGuardedUser();
  const app = scan(target, (await user.client.post('/account/mfa/totp')).string('uri'));
  target.clock.advance(21 * 60_000);
  for (const path of ['/account/mfa/totp', '/account/mfa/authenticators/totp'])
    (await user.client.put(path, { otp: app.code() })).refused(401, 'user_challenge_required');
});

test('the first factor takes a session of any age, and so does turning it on', async () => {
  for (const isVerified of [false, true]) {
    const user = await aLoggedInUser(target);
    if (isVerified) await verify(target, user.id, 'email');
    target.clock.advance(60 * 60_000);
    const app = scan(target, (await user.client.post('/account/mfa/authenticators/totp')).expect(200).string('uri'));
    (await user.client.put('/account/mfa/authenticators/totp', { otp: app.code() })).expect(200);
    (await user.client.patch('/account/mfa', { mfa: true })).expect(200);
  }
});

test('a challenge makes a session fresh again', async () => {
  const { client, app } = await aGuardedUser(target);
  target.clock.advance(60 * 60_000);
  const authenticator = '/account/mfa/authenticators/totp';
  (await client.delete(authenticator)).refused(401, 'user_challenge_required');
  const challengeId = (await client.post('/account/mfa/challenges', { factor: 'totp' })).expect(201).string('$id');
  const proved = (await client.put('/account/mfa/challenges', { challengeId, otp: app.code() })).expect(200);
  const renewed = createClient(target, { session: proved.string('secret') });
  target.clock.advance(19 * 60_000);
  (await renewed.delete(authenticator)).expect(204);
});

test('a factor that an old session has added makes it no fresher, as its holder may be a stranger', async () => {
  const { client } = await aLoggedInUser(target);
  target.clock.advance(60 * 60_000);
  const app = scan(target, (await client.post('/account/mfa/totp')).expect(200).string('uri'));
  const [code = ''] = (await client.put('/account/mfa/totp', { otp: app.code() })).expect(200).body
    .recoveryCodes as string[];
  let session = client;
  for (const [factor, otp] of [
    ['recoverycode', code],
    ['totp', app.nextCode()],
  ]) {
    const challengeId = (await session.post('/account/mfa/challenges', { factor })).expect(201).string('$id');
    const renewed = (await session.put('/account/mfa/challenges', { challengeId, otp })).expect(200);
    session = createClient(target, { session: renewed.string('secret') });
    (await session.delete('/account')).refused(401, 'user_challenge_required');
  }
});

test('enrolling makes no session fresh, because its holder has just received the seed', async () => {
  const { client } = await aLoggedInUser(target);
  target.clock.advance(60 * 60_000);
  const app = scan(target, (await client.post('/account/mfa/totp')).expect(200).string('uri'));
  (await client.put('/account/mfa/totp', { otp: app.code() })).expect(200);
  (await client.delete('/account')).refused(401, 'user_challenge_required');
  (await client.get('/account/mfa/recovery-codes')).refused(401, 'user_challenge_required');
});
