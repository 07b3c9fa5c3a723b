// Every operation of the second factor, each by somebody for whom it can succeed.
import { aLoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { aGuardedUser, scan } from './people.js';

type Step = [id: string, method: string, path: string, body: unknown, client: Client];

const totp = '/account/mfa/totp';
const authenticator = '/account/mfa/authenticators/totp';
const challenges = '/account/mfa/challenges';
const challengeAlias = '/account/mfa/challenge';
const recoveryCodes = '/account/mfa/recovery-codes';

/** Prepares the callers and lists what they call. */
export async function secondFactorWalk(target: TestAppliance): Promise<Step[]> {
  const fresh = async () => (await aLoggedInUser(target)).client;
  const enrolling = async () => {
    const client = await fresh();
    const otp = scan(target, (await client.post(totp)).string('uri')).code();
    return [{ otp }, client] as const;
  };
  const challenged = async () => {
    const { client, app } = await aGuardedUser(target);
    const challengeId = (await client.post(challenges, { factor: 'totp' })).string('$id');
    return [{ challengeId, otp: app.code(1) }, client] as const;
  };
  const { client } = await aGuardedUser(target);
  return [
    ['account_updateMfa', 'PATCH', '/account/mfa', { mfa: true }, await fresh()],
    ['account_listMfaFactors', 'GET', '/account/mfa/factors', undefined, client],
    ['account_createTotp', 'POST', totp, undefined, await fresh()],
    ['account_confirmTotp', 'PUT', totp, ...(await enrolling())],
    ['account_createMfaAuthenticator', 'POST', authenticator, undefined, await fresh()],
    ['account_updateMfaAuthenticator', 'PUT', authenticator, ...(await enrolling())],
    ['account_createMfaChallenge', 'POST', challenges, { factor: 'totp' }, client],
    ['account_createMfaChallenge__account_mfa_challenge', 'POST', challengeAlias, { factor: 'totp' }, client],
    ['account_updateMfaChallenge', 'PUT', challenges, ...(await challenged())],
    ['account_updateMfaChallenge__account_mfa_challenge', 'PUT', challengeAlias, ...(await challenged())],
    ['account_createMfaRecoveryCodes', 'POST', recoveryCodes, undefined, await fresh()],
    ['account_getMfaRecoveryCodes', 'GET', recoveryCodes, undefined, client],
    ['account_updateMfaRecoveryCodes', 'PATCH', recoveryCodes, undefined, client],
    ['account_deleteMfaAuthenticator', 'DELETE', authenticator, undefined, client],
  ];
}
