// Enrolling an authenticator app, by the seed's routes and by those of the SDK, and the recovery codes that come with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOTP, URI } from 'otpauth';
import type { ErrorType } from '#src/contract/errors.js';
import { aLoggedInUser, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { aGuardedUser, halfLogin, scan } from './people.js';

const target = await startAppliance();
const path = '/account/mfa/totp';
const sdkPath = '/account/mfa/authenticators/totp';

test('the provisioning URI has the form that apps expect, and the seed has 160 bits', async () => {
  const user = await aLoggedInUser(target);
  const { value, recorded } = await recordedBy(target, () => user.client.post(path));
  const answer = value.expect(200);
  assert.deepEqual(Object.keys(answer.body), ['secret', 'uri']);
  assert.deepEqual(recorded, nothing);
  const totp = URI.parse(answer.string('uri'));
  assert.ok(totp instanceof TOTP);
  const { issuer, label, algorithm, digits, period, secret } = totp;
  assert.deepEqual(
    { issuer, label, algorithm, digits, period, bytes: secret.bytes.length, secret: secret.base32 },
    {
      ...{ issuer: 'Project main', label: user.email, algorithm: 'SHA1', digits: 6, period: 30, bytes: 20 },
      secret: answer.string('secret'),
    },
  );
});

for (const name of ['otp', 'code']) {
  test(`a code as ${name} turns the second factor on and gives ten recovery codes`, async () => {
    const user = await aLoggedInUser(target);
    const app = scan(target, (await user.client.post(path)).string('uri'));
    const { value, recorded } = await recordedBy(target, () => user.client.put(path, { [name]: app.code() }));
    const codes = value.expect(200).body.recoveryCodes as string[];
    assert.deepEqual(Object.keys(value.body), ['recoveryCodes']);
    assert.equal(new Set(codes).size, 10);
    for (const code of codes) assert.match(code, /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
    assert.deepEqual(recorded, {
      audit: ['factorAdded', 'mfaEnabled', 'recoveryCodesCreated', 'sessionUpdated'],
      ...{ events: [], messages: ['factor-added'] },
    });
    assert.equal((await user.client.get('/account')).body.mfa, true);
    assert.deepEqual((await user.client.get('/account/sessions/current')).body.factors, ['password', 'totp']);
    const [message] = await messagesTo(target, user.id);
    assert.deepEqual([message?.to, message?.locals.factor], [user.email, 'totp']);
    await halfLogin(target, user);
  });
}

test('seed and recovery codes stand nowhere in the database', async () => {
  const user = await aLoggedInUser(target);
  const begun = (await user.client.post(path)).expect(200);
  const app = scan(target, begun.string('uri'));
  const codes = (await user.client.put(path, { otp: app.code() })).expect(200).body.recoveryCodes as string[];
  const tables = ['authenticators', 'recovery_codes', 'audit_entries', 'audit_subjects', 'events', 'messages'];
  const stored = JSON.stringify(await Promise.all(tables.map((table) => rowsOf(target, table))));
  for (const secret of [begun.string('secret'), ...codes, ...codes.map((code) => code.replaceAll('-', ''))])
    assert.ok(!stored.includes(secret));
});

const begin = (user: LoggedInUser) => user.client.post(path);
const refusals: [string, (user: LoggedInUser) => Promise<unknown>, unknown, number, ErrorType][] = [
  ['a code without an enrolment', async () => {}, { otp: '000000' }, 404, 'user_authenticator_not_found'],
  ['a wrong code', begin, { otp: '000000' }, 401, 'user_invalid_token'],
  ['a code that is too short', begin, { otp: '123' }, 401, 'user_invalid_token'],
  ['a code that is none', begin, { otp: 'kangaroo' }, 401, 'user_invalid_token'],
  ['an empty code', begin, { otp: '' }, 401, 'user_invalid_token'],
  ['a recovery code', begin, { otp: 'aaaa-bbbb-cccc-dddd' }, 401, 'user_invalid_token'],
  ['no code', begin, {}, 400, 'general_argument_invalid'],
  ['a number', begin, { otp: 123456 }, 400, 'general_argument_invalid'],
  ['a very long code', begin, { otp: '1'.repeat(300) }, 400, 'general_argument_invalid'],
];
for (const [name, before, body, status, type] of refusals) {
  test(`${name} is refused and turns nothing on`, async () => {
    const user = await aLoggedInUser(target);
    await before(user);
    for (const route of [path, sdkPath]) {
      const { value, recorded } = await recordedBy(target, () => user.client.put(route, body));
      value.refused(status, type);
      if (status === 401) assert.equal(value.string('message'), 'The code is wrong or expired.');
      assert.deepEqual(recorded, nothing);
    }
    assert.equal((await user.client.get('/account')).body.mfa, false);
    await logIn(target, user);
  });
}

test('beginning again replaces the seed that was never verified', async () => {
  const { client } = await aLoggedInUser(target);
  const first = scan(target, (await client.post(path)).string('uri'));
  const second = scan(target, (await client.post(sdkPath)).string('uri'));
  (await client.put(path, { otp: first.code() })).refused(401, 'user_invalid_token');
  (await client.put(path, { otp: second.code() })).expect(200);
});

test('a verified authenticator stays as it is', async () => {
  const { client, app, ...user } = await aGuardedUser(target);
  for (const route of [path, sdkPath]) {
    (await client.post(route)).refused(409, 'user_authenticator_already_verified');
    (await client.put(route, { otp: app.nextCode() })).refused(409, 'user_authenticator_already_verified');
  }
  const pending = await halfLogin(target, { client, ...user });
  assert.ok(pending.body.pendingSession);
});

test('only authenticator apps can be enrolled there', async () => {
  const { client } = await aLoggedInUser(target);
  for (const method of ['POST', 'PUT', 'DELETE'])
    (await client.request(method, '/account/mfa/authenticators/sms', { otp: '1' })).refused(
      400,
      'general_argument_invalid',
    );
});

test('the SDK takes one step at a time', async () => {
  const { client, id } = await aLoggedInUser(target);
  const app = scan(target, (await client.post(sdkPath)).expect(200).string('uri'));
  const verified = await recordedBy(target, () => client.put(sdkPath, { otp: app.code() }));
  assert.deepEqual([verified.value.expect(200).body.$id, verified.value.body.mfa], [id, false]);
  assert.deepEqual(verified.recorded, {
    audit: ['factorAdded', 'sessionUpdated'],
    ...{ events: [], messages: ['factor-added'] },
  });
  const on = await recordedBy(target, () => client.patch('/account/mfa', { mfa: true }));
  assert.equal(on.value.expect(200).body.mfa, true);
  assert.deepEqual(on.recorded, { audit: ['mfaEnabled'], events: [], messages: [] });
  assert.deepEqual((await recordedBy(target, () => client.patch('/account/mfa', { mfa: true }))).recorded, nothing);
  const none = { totp: true, phone: false, email: false, recoveryCode: false };
  assert.deepEqual((await client.get('/account/mfa/factors')).expect(200).body, none);

  const codes = '/account/mfa/recovery-codes';
  (await client.get(codes)).refused(404, 'user_recovery_codes_not_found');
  (await client.patch(codes)).refused(404, 'user_recovery_codes_not_found');
  const made = await recordedBy(target, () => client.post(codes));
  assert.equal((made.value.expect(201).body.recoveryCodes as string[]).length, 10);
  assert.deepEqual(made.recorded, { audit: ['recoveryCodesCreated'], events: [], messages: ['factor-added'] });
  (await client.post(codes)).refused(409, 'user_recovery_codes_already_exists');
  assert.deepEqual((await client.get(codes)).expect(200).body, {
    recoveryCodes: Array(10).fill('****-****-****-****'),
  });
  assert.equal((await client.get('/account/mfa/factors')).body.recoveryCode, true);

  const removed = await recordedBy(target, () => client.delete(sdkPath));
  removed.value.expect(204);
  assert.deepEqual(removed.recorded, { audit: ['factorRemoved'], events: [], messages: ['factor-removed'] });
  (await client.delete(sdkPath)).refused(404, 'user_authenticator_not_found');
  const off = await recordedBy(target, () => client.patch('/account/mfa', { mfa: false }));
  assert.equal(off.value.expect(200).body.mfa, false);
  assert.deepEqual(off.recorded, { audit: ['mfaDisabled'], events: [], messages: ['factor-removed'] });
});

test('new recovery codes void those before', async () => {
  const { client, recoveryCodes, email, password } = await aGuardedUser(target);
  const fresh = (await client.patch('/account/mfa/recovery-codes')).expect(200).body.recoveryCodes as string[];
  assert.equal(new Set([...fresh, ...recoveryCodes]).size, 20);
  const enter = (otp = '') => client.with({ session: '' }).post('/account/sessions/email', { email, password, otp });
  (await enter(recoveryCodes[0])).refused(401, 'user_invalid_token');
  (await enter(fresh[0])).expect(201);
});
