import { z } from 'zod';
import { bodySizes, prefsBytes } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId, displayName, emailAddress, newId, phoneNumber } from '#src/contract/shapes.js';
import { passwordText, userShape } from '../accounts/index.js';
import { identityShape, logShape } from './view.js';

const common = { tag: 'account', auth: ['user'], limit: 'data', bodyBytes: bodySizes.account } as const;
const list = {
  queries: z
    .array(z.string().max(4096))
    .max(100)
    .default([])
    .meta({ description: 'Queries, each a JSON object with method and values' }),
  total: z.enum(['true', 'false']).default('true').meta({ description: 'false: do not count' }),
};
const prefsShape = z.record(z.string(), z.unknown()).meta({ id: 'Preferences' });
const prefsInput = prefsShape.refine((prefs) => Buffer.byteLength(JSON.stringify(prefs)) <= prefsBytes, {
  message: `must be at most ${prefsBytes} bytes of JSON`,
});

/** What users do with their own account. */
export const selfServiceApi = declare({
  signUp: {
    ...common,
    id: 'account.create',
    method: 'POST',
    path: '/account',
    summary: 'Creates an account with e-mail address and password. No session is created.',
    auth: ['guest', 'user', 'key'],
    scopes: ['sessions.write'],
    limit: 'signup',
    body: z.object({ userId: newId, email: emailAddress, password: passwordText, name: displayName.default('') }),
    status: 201,
    reply: json(userShape),
    errors: ['user_already_exists', 'password_policy_violation'],
  },
  get: {
    ...common,
    id: 'account.get',
    method: 'GET',
    path: '/account',
    summary: 'Reads the account of the signed-in user.',
    status: 200,
    reply: json(userShape),
    errors: [],
  },
  delete: {
    ...common,
    id: 'account.delete',
    method: 'DELETE',
    path: '/account',
    summary: 'Deletes the account of the signed-in user. Needs a login not older than 20 minutes.',
    status: 204,
    reply: empty,
    errors: ['user_challenge_required'],
    session: 'closes',
  },
  updateName: {
    ...common,
    id: 'account.updateName',
    method: 'PATCH',
    path: '/account/name',
    summary: 'Changes the name.',
    body: z.object({ name: displayName }),
    status: 200,
    reply: json(userShape),
    errors: [],
  },
  updateEmail: {
    ...common,
    id: 'account.updateEmail',
    method: 'PATCH',
    path: '/account/email',
    summary:
      'Changes the e-mail address; for an account without a password the given one becomes its password. An anonymous account gets a new session secret.',
    body: z.object({ email: emailAddress, password: passwordText }),
    status: 200,
    reply: json(userShape),
    errors: [
      'user_invalid_credentials',
      'user_email_already_exists',
      'password_policy_violation',
      'general_rate_limit_exceeded',
    ],
    session: 'renews',
  },
  updatePhone: {
    ...common,
    id: 'account.updatePhone',
    method: 'PATCH',
    path: '/account/phone',
    summary: 'Changes the phone number; an account without a password needs a login not older than 20 minutes instead.',
    body: z.object({ phone: phoneNumber, password: passwordText }),
    status: 200,
    reply: json(userShape),
    errors: ['user_invalid_credentials', 'user_challenge_required', 'user_phone_already_exists'],
  },
  updatePassword: {
    ...common,
    id: 'account.updatePassword',
    method: 'PATCH',
    path: '/account/password',
    summary: 'Changes the password and ends all other sessions.',
    body: z.object({ password: passwordText, oldPassword: passwordText.default('') }),
    status: 200,
    reply: json(userShape),
    errors: ['user_invalid_credentials', 'user_challenge_required', 'password_policy_violation'],
  },
  getPrefs: {
    ...common,
    id: 'account.getPrefs',
    method: 'GET',
    path: '/account/prefs',
    summary: 'Reads the preferences.',
    status: 200,
    reply: json(prefsShape),
    errors: [],
  },
  updatePrefs: {
    ...common,
    id: 'account.updatePrefs',
    method: 'PATCH',
    path: '/account/prefs',
    summary: 'Replaces the preferences as a whole.',
    bodyBytes: bodySizes.prefs,
    body: z.object({ prefs: prefsInput }),
    status: 200,
    reply: json(userShape),
    errors: [],
  },
  updateStatus: {
    ...common,
    id: 'account.updateStatus',
    method: 'PATCH',
    path: '/account/status',
    summary: 'Blocks the own account and ends every session.',
    status: 200,
    reply: json(userShape),
    errors: [],
    session: 'closes',
  },
  listLogs: {
    ...common,
    id: 'account.listLogs',
    method: 'GET',
    path: '/account/logs',
    summary: 'Lists what the user did and what was done to the account, newest first.',
    query: z.object(list),
    status: 200,
    reply: json(z.object({ total: z.int(), logs: z.array(logShape) }).meta({ id: 'LogList' })),
    errors: ['general_query_invalid'],
  },
  listIdentities: {
    ...common,
    id: 'account.listIdentities',
    method: 'GET',
    path: '/account/identities',
    summary: 'Lists the accounts with other providers by which the user can log in.',
    query: z.object(list),
    status: 200,
    reply: json(z.object({ total: z.int(), identities: z.array(identityShape) }).meta({ id: 'IdentityList' })),
    errors: [],
  },
  deleteIdentity: {
    ...common,
    id: 'account.deleteIdentity',
    method: 'DELETE',
    path: '/account/identities/:identityId',
    summary: 'Takes such an account away.',
    params: z.object({ identityId: customId }),
    status: 204,
    reply: empty,
    errors: ['user_identity_not_found'],
  },
});
