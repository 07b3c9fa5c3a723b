// Calls every operation of the account pages as a user who may call it.
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { aContact } from '../logins/setup.js';
import { aKeyholder } from '../passkeys/setup.js';
import { phoneProof } from '../proofs/proofs.js';
import { aGuardedUser, scan } from '../second-factor/people.js';

type Step = [id: string, method: string, path: string, body: unknown, client: Client];

const shown = {
  pages_account: 'account',
  pages_accountName: 'account-name',
  pages_accountEmail: 'account-email',
  pages_accountPhone: 'account-phone',
  pages_accountPhoneCode: 'account-phone-code',
  pages_accountPassword: 'account-password',
  pages_accountAuthenticator: 'account-authenticator',
  pages_accountCodes: 'account-codes',
  pages_accountDelete: 'account-delete',
} as const;

/** Creates the users and lists their calls. */
export async function accountWalk(target: TestAppliance): Promise<Step[]> {
  const anna = await aLoggedInUser(target);
  const guarded = await aGuardedUser(target);
  const keyholder = await aKeyholder(target);
  const phone = aContact('phone');
  (await anna.client.patch('/account/phone', { phone, password: anna.password })).expect(200);
  const { secret } = await phoneProof(target, { ...anna, phone });
  const scanner = await aLoggedInUser(target);
  const uri = (await scanner.client.post('/account/mfa/totp')).expect(200).string('uri');
  const at = (page: string) => `/auth/${page}?project=${target.project.id}`;
  const form = (id: string, page: string, fields: Readonly<Record<string, string>>, user: LoggedInUser): Step => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const client = createClient(target, { session: user.secret, headers });
    return [`pages_postAccount${id}`, 'POST', at(`account-${page}`), new URLSearchParams(fields).toString(), client];
  };
  const current = anna.password;
  return [
    ...Object.entries(shown).map(([id, page]): Step => [id, 'GET', at(page), undefined, anna.client]),
    form('Name', 'name', { name: 'Anna' }, anna),
    form('PhoneCode', 'phone-code', { secret }, anna),
    form('Phone', 'phone', { phone: aContact('phone'), current }, anna),
    form('Email', 'email', { email: aContact('email'), current }, anna),
    form('Proof', 'proof', { by: 'email' }, anna),
    form('Password', 'password', { current, password: 'another fine password' }, anna),
    form('Identity', 'identity', { identityId: 'none' }, anna),
    form('Session', 'session', { sessionId: '' }, anna),
    form('AuthenticatorStart', 'authenticator-start', {}, anna),
    form('Authenticator', 'authenticator', { uri, otp: scan(target, uri).code() }, scanner),
    form('Codes', 'codes', {}, guarded),
    form('AuthenticatorRemoval', 'authenticator-removal', {}, guarded),
    form('Passkey', 'passkey', { passkeyId: keyholder.passkeyId, form: 'remove' }, keyholder),
    form('Delete', 'delete', {}, anna),
  ];
}
