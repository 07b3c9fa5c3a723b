// The address, the number or the name that somebody has already is no change: nothing is unverified, announced or ended by it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, runSql } from '../harness/database.js';
import { aUserWithPhone, emailProof, phoneProof } from './proofs.js';

const target = await startAppliance({
  settings: { SVC_SMS_URL: 'https://u:p@sms.example/x', SVC_TOKENS_IN_RESPONSE: 'never' },
});
const key = (await aServerKey(target)).client;
const guest = createClient(target);

test('the own email address, in whatever letters, stays verified', async () => {
  const user = await aLoggedInUser(target);
  const { client, email, password, id } = user;
  (await client.put('/account/verification', await emailProof(target, user))).expect(200);
  for (const given of [email, email.toUpperCase()]) {
    const { value, recorded } = await recordedBy(target, () =>
      client.patch('/account/email', { email: given, password }),
    );
    assert.deepEqual([value.expect(200).body.emailVerification, value.body.email], [true, email]);
    assert.deepEqual(recorded, nothing);
    const byKey = await recordedBy(target, () => key.patch(`/users/${id}/email`, { email: given }));
    assert.equal(byKey.value.expect(200).body.emailVerification, true);
    assert.deepEqual(byKey.recorded, nothing);
  }
  // It still takes the password, and another address is unverified.
  (await client.patch('/account/email', { email, password: 'a wrong one' })).refused(401, 'user_invalid_credentials');
  const other = await client.patch('/account/email', { email: `other.${email}`, password });
  assert.equal(other.expect(200).body.emailVerification, false);
});

test('a link on its way to the own address survives setting that address again', async () => {
  const user = await aLoggedInUser(target);
  const proof = await emailProof(target, user);
  (await user.client.patch('/account/email', { email: user.email, password: user.password })).expect(200);
  (await user.client.put('/account/verification', proof)).expect(200);
});

test('the own phone number stays verified', async () => {
  const user = await aUserWithPhone(target);
  const { client, phone, password, id } = user;
  (await client.put('/account/verifications/phone', await phoneProof(target, user))).expect(200);
  const own = await recordedBy(target, () => client.patch('/account/phone', { phone, password }));
  assert.equal(own.value.expect(200).body.phoneVerification, true);
  assert.deepEqual(own.recorded, nothing);
  const byKey = await recordedBy(target, () => key.patch(`/users/${id}/phone`, { number: phone }));
  assert.equal(byKey.value.expect(200).body.phoneVerification, true);
  assert.deepEqual(byKey.recorded, nothing);
});

test('a first password beside the own address is set, and the address stays verified', async () => {
  const user = await aLoggedInUser(target);
  (await user.client.put('/account/verification', await emailProof(target, user))).expect(200);
  await runSql(target, 'update users set password_hash = null where id = ?', [user.id]);
  const body = { email: user.email, password: 'the very first one' };
  const { value, recorded } = await recordedBy(target, () => user.client.patch('/account/email', body));
  assert.equal(value.expect(200).body.emailVerification, true);
  assert.deepEqual(recorded, { audit: ['accountPasswordChanged'], events: [], messages: ['password-changed'] });
  (await guest.post('/account/sessions/email', body)).expect(201);
});

test("another user's address, proved or only claimed, is refused as before", async () => {
  const [user, other] = [await aLoggedInUser(target), await aUser(target)];
  const change = { email: other.email.toUpperCase(), password: user.password };
  (await user.client.patch('/account/email', change)).refused(409, 'user_email_already_exists');
  (await key.patch(`/users/${user.id}/email`, { email: other.email })).refused(409, 'user_email_already_exists');
  assert.equal((await user.client.get('/account')).body.email, user.email);
});

test('the own name is no change, for users and for server keys', async () => {
  const user = await aLoggedInUser(target, { name: 'Ada' });
  const steps = [
    () => user.client.patch('/account/name', { name: 'Ada' }),
    () => key.patch(`/users/${user.id}/name`, { name: 'Ada' }),
  ];
  for (const step of steps) {
    const { value, recorded } = await recordedBy(target, step);
    assert.equal(value.expect(200).body.name, 'Ada');
    assert.deepEqual(recorded, nothing);
  }
  const { recorded } = await recordedBy(target, () => user.client.patch('/account/name', { name: 'ada' }));
  assert.deepEqual(recorded.audit, ['accountNameChanged']);
});
