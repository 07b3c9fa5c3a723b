import { z } from 'zod';
import { bodySizes, prefsBytes } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { displayName, emailAddress, newId } from '#src/contract/shapes.js';
import { passwordText, userShape } from '../accounts/index.js';

const common = { tag: 'account', auth: ['user'], limit: 'data', bodyBytes: bodySizes.account } as const;
/** Preferences on the wire. */
export const prefsShape = z.record(z.string(), z.unknown()).meta({ id: 'Preferences' });
/** Preferences that replace those before. */
export const prefsInput = prefsShape.refine((prefs) => Buffer.byteLength(JSON.stringify(prefs)) <= prefsBytes, {
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
    summary: 'Changes the e-mail address; for an account without a password the given one becomes its password.',
    body: z.object({ email: emailAddress, password: passwordText }),
    status: 200,
    reply: json(userShape),
    errors: [
      'user_invalid_credentials',
      'user_email_already_exists',
      'password_policy_violation',
      'general_rate_limit_exceeded',
    ],
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
});
