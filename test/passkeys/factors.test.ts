// Passkeys meet the second factor, unproved addresses, and the limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { requireAlike } from '../harness/alike.js';
import { startAppliance } from '../harness/appliance.js';
import { Answer, createClient } from '../harness/client.js';
import { recordedBy } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';
import { aContact, askAndRead, redeemPath, sentLogins } from '../logins/setup.js';
import { aGuardedUser } from '../second-factor/people.js';
import { Authenticator } from './authenticator.js';
import { aKeyholder, logInBy, paths, register, requestOptions } from './setup.js';

const target = await startAppliance();
const guest = createClient(target);
const unverified = { userVerified: false };
const [, emailCode] = sentLogins;
assert.ok(emailCode);

test('with the second factor on, a passkey that has verified its user is both', async () => {
  const anna = await aGuardedUser(target);
  const device = new Authenticator();
  (await register(anna.client, device)).expect(201);
  const opened = (await logInBy(guest, device, anna.email)).expect(201);
  assert.deepEqual(opened.body.factors, ['passkey']);
});

test('without user verification the second factor is asked for, and a challenge or a code completes the login', async () => {
  const anna = await aGuardedUser(target);
  const device = new Authenticator();
  (await register(anna.client, device)).expect(201);
  const { value, recorded } = await recordedBy(target, () => logInBy(guest, device, anna.email, unverified));
  value.refused(401, 'user_more_factors_required');
  assert.deepEqual(recorded, { audit: ['loginPending'], events: [], messages: [] });
  const { secret } = value.body.pendingSession as { secret: string };
  const pending = createClient(target, { session: secret });
  (await pending.get('/account/passkeys')).refused(401, 'user_more_factors_required');
  (await pending.post(paths.registerStart)).refused(401, 'user_more_factors_required');
  const challenge = (await pending.post('/account/mfa/challenges', { factor: 'totp' })).expect(201);
  const answer = { challengeId: challenge.string('$id'), otp: anna.app.nextCode() };
  const completed = (await pending.put('/account/mfa/challenges', answer)).expect(200);
  assert.deepEqual([completed.body.factors, completed.body.provider], [['passkey', 'totp'], 'passkey']);

  const response = device.get(await requestOptions(guest), unverified);
  const atOnce = (await guest.post(paths.loginFinish, { response, otp: anna.app.nextCode() })).expect(201);
  assert.deepEqual(atOnce.body.factors, ['passkey', 'totp']);
  const wrong = device.get(await requestOptions(guest), unverified);
  (await guest.post(paths.loginFinish, { response: wrong, otp: '000000' })).refused(401, 'user_invalid_token');
});

test('without user verification and without a second factor, the project decides', async () => {
  const { device, client, id } = await aKeyholder(target);
  (await logInBy(guest, device, undefined, unverified)).refused(401, 'user_invalid_credentials');
  await changeSettings(target, { 'passkeys.userVerification': 'preferred' });
  assert.equal((await requestOptions(guest)).userVerification, 'preferred');
  assert.equal((await logInBy(guest, device, undefined, unverified)).expect(201).string('userId'), id);
  (await register(client, new Authenticator(), unverified)).expect(201);
  await changeSettings(target, { 'passkeys.userVerification': 'required' });
  (await register(client, new Authenticator(), unverified)).refused(401, 'user_invalid_credentials');
});

test('an address that a stranger holds unproved with a passkey: its owner gets an account of its own', async () => {
  const stranger = await aKeyholder(target);
  const given = await askAndRead(target, emailCode, stranger.email);
  const owner = (await guest.post(redeemPath, given)).expect(201);
  assert.notEqual(owner.string('userId'), stranger.id);
  const account = (await createClient(target, { session: owner.string('secret') }).get('/account')).expect(200);
  assert.deepEqual([account.body.email, account.body.emailVerification], [stranger.email, true]);
  (await logInBy(guest, stranger.device, stranger.email)).refused(401, 'user_invalid_credentials');
  assert.equal((await logInBy(guest, stranger.device)).expect(201).string('userId'), stranger.id);
});

test("a stranger's removed passkey opens nothing", async () => {
  const stranger = await aKeyholder(target);
  (await stranger.client.delete(`/account/passkeys/${stranger.passkeyId}`)).expect(204);
  const started = (await stranger.client.post(paths.registerStart)).expect(200);
  const given = await askAndRead(target, emailCode, stranger.email);
  const owner = (await guest.post(redeemPath, given)).expect(201);
  assert.equal(owner.string('userId'), stranger.id);
  const response = new Authenticator().create(started.body.options as Parameters<Authenticator['create']>[0]);
  (await stranger.client.post(paths.registerFinish, { response })).refused(401, 'general_unauthorized_scope');
  (await logInBy(guest, stranger.device)).refused(401, 'user_invalid_credentials');
});

test('a new password leaves the passkeys, a block ends their sessions', async () => {
  const { client, device, password } = await aKeyholder(target);
  const change = { password: 'a new fine password', oldPassword: password };
  (await client.patch('/account/password', change)).expect(200);
  const opened = (await logInBy(guest, device)).expect(201);
  const session = createClient(target, { session: opened.string('secret') });
  (await session.patch('/account/status')).expect(200);
  (await session.get('/account')).refused(403, 'user_blocked');
  (await logInBy(guest, device)).refused(403, 'user_blocked');
});

test('decoys stay the same for an address, and look like passkeys', async () => {
  const { email: withoutPasskey } = await aUser(target);
  const seen = new Set<string>();
  for (const email of [withoutPasskey, ...Array.from({ length: 40 }, () => aContact('email'))]) {
    const [first, second] = [await requestOptions(guest, email), await requestOptions(guest, email.toUpperCase())];
    assert.deepEqual(first.allowCredentials, second.allowCredentials);
    assert.notEqual(first.challenge, second.challenge);
    const { length } = first.allowCredentials;
    assert.ok(length >= 1 && length <= 3);
    for (const { id, type, transports = [] } of first.allowCredentials) {
      assert.ok([16, 20, 32, 48, 64].includes(Buffer.from(id, 'base64url').length));
      assert.ok(!seen.has(id));
      assert.equal(type, 'public-key');
      assert.ok(transports.length > 0 && transports.every((one) => ['hybrid', 'internal', 'nfc', 'usb'].includes(one)));
      seen.add(id);
    }
  }
  const abroad = createClient(target, { project: target.neighbour.id });
  const [here, there] = [await requestOptions(guest, withoutPasskey), await requestOptions(abroad, withoutPasskey)];
  assert.notDeepEqual(here.allowCredentials, there.allowCredentials);
});

test('starts for a known and an unknown address, in turn, cannot be told apart', async (t) => {
  const { email } = await aKeyholder(target);
  await requireAlike(t, async (kind) => {
    const answer = (await guest.post(paths.loginStart, { email: kind === 'known' ? email : aContact('email') })).expect(
      200,
    );
    const options = answer.body.options as { challenge: string; allowCredentials: object[] };
    // The values differ for every address; the form may not.
    const shape = {
      ...options,
      challenge: options.challenge.length,
      allowCredentials: Object.keys(options.allowCredentials[0] ?? {}),
    };
    const headers = new Headers(answer.headers);
    headers.delete('content-length');
    return new Answer('start', { status: answer.status, headers }, JSON.stringify({ options: shape }));
  });
});

test('finishes for a known and an unknown address, in turn, cannot be told apart', async (t) => {
  const { email, device } = await aKeyholder(target);
  await requireAlike(t, async (kind) => {
    const address = kind === 'known' ? email : aContact('email');
    const lie = { forged: true };
    return (await logInBy(guest, device, address, lie)).refused(401, 'user_invalid_credentials');
  });
});

test('ten wrong answers for an address lock its passkey login, and no other way in', async () => {
  const strict = await startAppliance({ settings: { SVC_RATE_LIMITS: '', SVC_TRUSTED_PROXIES: '127.0.0.0/8' } });
  const from = (address: string) => createClient(strict, { headers: { 'X-Forwarded-For': address } });
  const { email, password, device } = await aKeyholder(strict);
  for (let count = 0; count < 10; count++)
    (await logInBy(from(`198.51.100.${count}`), device, email, { forged: true })).refused(
      401,
      'user_invalid_credentials',
    );
  (await logInBy(from('198.51.100.30'), device, email)).refused(429, 'general_rate_limit_exceeded');
  (await logInBy(from('198.51.100.31'), device)).expect(201);
  (await from('198.51.100.32').post('/account/sessions/email', { email, password })).expect(201);
  const starts: number[] = [];
  for (let count = 0; count < 61; count++) starts.push((await from('203.0.113.9').post(paths.loginStart, {})).status);
  assert.deepEqual([starts.filter((status) => status === 200).length, starts.at(-1)], [60, 429]);
  for (let count = 0; count < 40; count++) {
    (await logInBy(from('203.0.113.10'), device)).expect(201);
  }
});

test('logging in again in one browser ends the session before', async () => {
  const { device } = await aKeyholder(target);
  const browser = createClient(target, { browser: 'http://localhost:3000' });
  const first = (await logInBy(browser, device)).expect(201);
  (await logInBy(browser, device)).expect(201);
  (await createClient(target, { session: first.string('secret') }).get('/account')).refused(
    401,
    'general_unauthorized_scope',
  );
});
