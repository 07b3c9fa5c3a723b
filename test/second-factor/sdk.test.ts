// The unmodified node-appwrite through the second factor: enrolment, a login by challenge, recovery codes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, AppwriteException, AuthenticationFactor, AuthenticatorType, Client, ID } from 'node-appwrite';
import { startAppliance } from '../harness/appliance.js';
import { scan } from './people.js';

const target = await startAppliance();

function aClient(session?: string): Client {
  const client = new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
  return session === undefined ? client : client.setSession(session);
}

async function exception(act: () => Promise<unknown>): Promise<AppwriteException> {
  const error = await act().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AppwriteException, String(error));
  return error;
}

test('enrolment, login by challenge, step-up and removal', async () => {
  const person = { email: 'ada@mail.example', password: 'a fine password' };
  const guest = new Account(aClient());
  const { $id } = await guest.create({ userId: ID.unique(), ...person, name: 'Ada' });
  const account = new Account(aClient((await guest.createEmailPasswordSession(person)).secret));
  const type = AuthenticatorType.Totp;

  const { uri } = await account.createMFAAuthenticator({ type });
  const app = scan(target, uri);
  assert.equal((await account.updateMFAAuthenticator({ type, otp: app.code() })).$id, $id);
  assert.equal((await account.updateMFA({ mfa: true })).mfa, true);
  const { recoveryCodes } = await account.createMFARecoveryCodes();
  assert.equal(recoveryCodes.length, 10);
  assert.deepEqual(
    { ...(await account.listMFAFactors()) },
    { totp: true, phone: false, email: false, recoveryCode: true },
  );

  const refused = await exception(() => guest.createEmailPasswordSession(person));
  assert.deepEqual([refused.code, refused.type], [401, 'user_more_factors_required']);
  const { pendingSession } = JSON.parse(refused.response);
  const client = aClient().setSession(pendingSession.secret);
  const pending = new Account(client);
  assert.equal((await exception(() => pending.get())).type, 'user_more_factors_required');
  assert.equal((await pending.listMFAFactors()).totp, true);
  const challenge = await pending.createMFAChallenge({ factor: AuthenticationFactor.Totp });
  const wrong = await exception(() => pending.updateMFAChallenge({ challengeId: challenge.$id, otp: '000000' }));
  assert.deepEqual([wrong.code, wrong.type], [401, 'user_invalid_token']);
  const session = await pending.updateMFAChallenge({ challengeId: challenge.$id, otp: app.nextCode() });
  assert.deepEqual([session.userId, session.factors], [$id, ['password', 'totp']]);
  client.setSession(session.secret);
  assert.equal((await pending.get()).$id, $id);

  target.clock.advance(21 * 60_000);
  assert.equal((await exception(() => pending.getMFARecoveryCodes())).type, 'user_challenge_required');
  const again = await pending.createMFAChallenge({ factor: AuthenticationFactor.Recoverycode });
  const renewed = await pending.updateMFAChallenge({ challengeId: again.$id, otp: recoveryCodes[0] ?? '' });
  client.setSession(renewed.secret);
  assert.equal((await pending.getMFARecoveryCodes()).recoveryCodes.length, 9);
  assert.equal((await pending.updateMFARecoveryCodes()).recoveryCodes.length, 10);
  await pending.deleteMFAAuthenticator({ type });
  assert.equal((await pending.updateMFA({ mfa: false })).mfa, false);
  assert.equal((await guest.createEmailPasswordSession(person)).userId, $id);
});

test('the deprecated spellings and an email code', async () => {
  const person = { email: 'bob@mail.example', password: 'a fine password' };
  const guest = new Account(aClient());
  await guest.create({ userId: ID.unique(), ...person });
  const account = new Account(aClient((await guest.createEmailPasswordSession(person)).secret));
  const { secret } = await account.createMfaAuthenticator(AuthenticatorType.Totp);
  const app = scan(target, `otpauth://totp/x?secret=${secret}`);
  await account.updateMfaAuthenticator(AuthenticatorType.Totp, app.code());
  assert.equal((await account.createMfaRecoveryCodes()).recoveryCodes.length, 10);
  const { $id } = await account.createMfaChallenge(AuthenticationFactor.Totp);
  assert.notEqual((await account.updateMfaChallenge($id, app.nextCode())).secret, '');
});
