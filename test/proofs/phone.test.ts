// The phone number of an account: changing it, and what the change asks for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { aNumber, aUserWithPhone, isVerified } from './proofs.js';

const target = await startAppliance({ settings: { SVC_SMS_URL: 'https://user:pass@sms.example/send' } });
const guest = createClient(target);
const path = '/account/phone';
const change = ({ client, password }: LoggedInUser, phone: string) => client.patch(path, { phone, password });

test('a phone number is set and changed, unverified, and the user gets a mail', async () => {
  const user = await aLoggedInUser(target);
  const [first, second] = [aNumber(), aNumber()];
  for (const [phone, previous] of [
    [first, ''],
    [second, first],
  ] as const) {
    await runSql(target, 'update users set phone_verification = 1 where id = ?', [user.id]);
    const { value, recorded } = await recordedBy(target, () => change(user, phone));
    const { body } = value.expect(200);
    assert.deepEqual(recorded, { audit: ['accountPhoneChanged'], events: [], messages: ['phone-changed'] });
    assert.deepEqual([body.phone, body.phoneVerification, body.emailVerification], [phone, false, false]);
    const targets = value.list('targets').map(({ providerType, identifier }) => [providerType, identifier]);
    assert.deepEqual(targets, [
      ['email', user.email],
      ['sms', phone],
    ]);
    const entries = await rowsOf(target, 'audit_entries', target.project.id);
    const entry = entries.find(({ request_id }) => request_id === value.headers.get('X-Request-Id'));
    assert.ok(entry && !String(entry.data).includes(phone), 'the number is personal');
    const kept = await runSql(target, 'select field, value, user_id from audit_subjects where entry_id = ?', [
      String(entry.id),
    ]);
    const values = Object.fromEntries(kept.map(({ field, value: text }) => [String(field), text]));
    const client = { 'client.ip': '127.0.0.1', 'client.userAgent': 'node' };
    assert.deepEqual(values, { ...client, phone, ...(previous === '' ? {} : { previous }) });
  }
  assert.equal((await messagesTo(target, user.email)).filter(({ template }) => template === 'phone-changed').length, 2);
  assert.equal(await isVerified(target, user.id, 'phone'), false);
});

test('the number stays without the password, and if another user has the new one', async () => {
  const [user, other] = [await aUserWithPhone(target), await aUserWithPhone(target)];
  const cases = [
    [{ phone: aNumber(), password: 'a wrong one' }, 401, 'user_invalid_credentials'],
    [{ phone: aNumber() }, 400, 'general_argument_invalid'],
    [{ phone: 'not a number', password: user.password }, 400, 'general_argument_invalid'],
    [{ phone: '', password: user.password }, 400, 'general_argument_invalid'],
    [{ phone: other.phone, password: user.password }, 409, 'user_phone_already_exists'],
  ] as const;
  for (const [body, status, type] of cases) {
    const { value, recorded } = await recordedBy(target, () => user.client.patch(path, body));
    value.refused(status, type);
    assert.deepEqual(recorded, nothing);
  }
  for (const client of [guest, (await aServerKey(target)).client])
    (await client.patch(path, { phone: aNumber(), password: 'x' })).refused(401, 'general_unauthorized_scope');
  assert.equal((await user.client.get('/account')).body.phone, user.phone);
});

test('users of two projects may have one number', async () => {
  const user = await aUserWithPhone(target);
  const elsewhere = await aLoggedInUser(target, {}, { project: target.neighbour.id });
  (await change(elsewhere, user.phone)).expect(200);
});

test('of two users who take one number at the same moment one gets it', async () => {
  for (let round = 0; round < 5; round++) {
    const users = await Promise.all([aLoggedInUser(target), aLoggedInUser(target)]);
    const phone = aNumber();
    const statuses = (await Promise.all(users.map((user) => change(user, phone)))).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, 409]);
  }
});

test('an account without a password needs a login not older than 20 minutes', async () => {
  const user = await aLoggedInUser(target);
  await runSql(target, 'update users set password_hash = null where id = ?', [user.id]);
  (await user.client.patch(path, { phone: aNumber(), password: '' })).expect(200);
  target.clock.advance(21 * minute);
  (await user.client.patch(path, { phone: aNumber(), password: '' })).refused(401, 'user_challenge_required');
});

test('wrong passwords here count like failed logins', async () => {
  const strict = await startAppliance({ settings: { SVC_RATE_LIMITS: '' } });
  const user = await aLoggedInUser(strict);
  for (let guess = 0; guess < 10; guess++)
    (await user.client.patch(path, { phone: aNumber(), password: 'wrong' })).refused(401, 'user_invalid_credentials');
  (await change(user, aNumber())).refused(429, 'general_rate_limit_exceeded');
  await logIn(strict, user);
});
