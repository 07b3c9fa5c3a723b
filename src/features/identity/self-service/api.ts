import { z } from 'zod';
import { declare, empty, json } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';
import { bodySizes, logPage } from '#src/contract/limits.js';
import { customId, displayName, newId, phoneNumber, required } from '#src/contract/shapes.js';
import { listParameters } from '#src/platform/list-query/index.js';
import { logListShape } from '../../events/index.js';
import { identityListShape } from '../identities/index.js';
import { passwordText, preferences, preferencesShape, userShape } from '../users/index.js';

const common = {
  tag: 'account',
  access: { auth: ['user'] },
  limits: { calls: 'data', bodyBytes: bodySizes.account },
} as const;
const list = z.object(listParameters);

/** Operations of users on their own account. */
export const selfServiceApi = declare({
  signUp: {
    ...common,
    id: 'account.create',
    method: 'POST',
    path: '/account',
    summary: 'Creates an account with email address and password. No session is created.',
    access: { auth: ['guest', 'user', 'key'], scopes: ['sessions.write'], login: 'login.password' },
    limits: { ...common.limits, calls: 'signup' },
    input: {
      body: z.object({ userId: newId, email: emailAddress, password: passwordText, name: displayName.default('') }),
    },
    reply: { status: 201, shape: json(userShape), errors: ['user_already_exists', 'password_policy_violation'] },
  },
  get: {
    ...common,
    id: 'account.get',
    method: 'GET',
    path: '/account',
    summary: 'Reads the account of the signed-in user.',
    reply: { status: 200, shape: json(userShape), errors: [] },
  },
  delete: {
    ...common,
    id: 'account.delete',
    method: 'DELETE',
    path: '/account',
    summary: 'Deletes the account of the signed-in user. Needs a login not older than 20 minutes.',
    access: { ...common.access, jwt: false },
    reply: { status: 204, shape: empty, session: 'closes', errors: ['user_challenge_required'] },
  },
  updateName: {
    ...common,
    id: 'account.updateName',
    method: 'PATCH',
    path: '/account/name',
    summary: 'Changes the name.',
    input: { body: z.object({ name: required(displayName) }) },
    reply: { status: 200, shape: json(userShape), errors: [] },
  },
  updateEmail: {
    ...common,
    id: 'account.updateEmail',
    method: 'PATCH',
    path: '/account/email',
    summary:
      'Changes the email address; for an account without a password, which needs a login not older than 20 minutes, the given one becomes its password. An anonymous account needs no such login and gets a new session secret.',
    access: { ...common.access, jwt: false },
    input: { body: z.object({ email: emailAddress, password: passwordText }) },
    reply: {
      status: 200,
      shape: json(userShape),
      session: 'renews',
      errors: [
        'user_invalid_credentials',
        'user_challenge_required',
        'user_email_already_exists',
        'password_policy_violation',
        'general_rate_limit_exceeded',
      ],
    },
  },
  updatePhone: {
    ...common,
    id: 'account.updatePhone',
    method: 'PATCH',
    path: '/account/phone',
    summary: 'Changes the phone number; an account without a password needs a login not older than 20 minutes instead.',
    access: { ...common.access, jwt: false },
    input: { body: z.object({ phone: phoneNumber, password: passwordText }) },
    reply: {
      status: 200,
      shape: json(userShape),
      errors: [
        'user_invalid_credentials',
        'user_challenge_required',
        'user_phone_already_exists',
        'general_rate_limit_exceeded',
      ],
    },
  },
  updatePassword: {
    ...common,
    id: 'account.updatePassword',
    method: 'PATCH',
    path: '/account/password',
    summary: 'Changes the password and ends all other sessions.',
    access: { ...common.access, jwt: false },
    input: { body: z.object({ password: passwordText, oldPassword: passwordText.default('') }) },
    reply: {
      status: 200,
      shape: json(userShape),
      errors: ['user_invalid_credentials', 'user_challenge_required', 'password_policy_violation'],
    },
  },
  getPrefs: {
    ...common,
    id: 'account.getPrefs',
    method: 'GET',
    path: '/account/prefs',
    summary: 'Reads the preferences.',
    reply: { status: 200, shape: json(preferencesShape), errors: [] },
  },
  updatePrefs: {
    ...common,
    id: 'account.updatePrefs',
    method: 'PATCH',
    path: '/account/prefs',
    summary: 'Replaces the preferences as a whole.',
    limits: { ...common.limits, bodyBytes: bodySizes.prefs },
    input: { body: z.object({ prefs: preferences }) },
    reply: { status: 200, shape: json(userShape), errors: [] },
  },
  updateStatus: {
    ...common,
    id: 'account.updateStatus',
    method: 'PATCH',
    path: '/account/status',
    summary: 'Blocks the own account and ends every session.',
    access: { ...common.access, jwt: false },
    reply: { status: 200, shape: json(userShape), session: 'closes', errors: [] },
  },
  listLogs: {
    ...common,
    id: 'account.listLogs',
    method: 'GET',
    path: '/account/logs',
    summary: 'Lists what the user did and what was done to the account, newest first.',
    input: { query: list },
    reply: { status: 200, shape: json(logListShape), bound: { entries: logPage.max, bytes: 8192 }, errors: [] },
  },
  listIdentities: {
    ...common,
    id: 'account.listIdentities',
    method: 'GET',
    path: '/account/identities',
    summary: 'Lists the accounts with identity providers by which the user logs in.',
    input: { query: list },
    reply: { status: 200, shape: json(identityListShape), bound: 'budget', errors: ['general_cursor_not_found'] },
  },
  deleteIdentity: {
    ...common,
    id: 'account.deleteIdentity',
    method: 'DELETE',
    path: '/account/identities/:identityId',
    summary:
      'Takes such an account away and ends the other sessions that were opened by it. Needs a login not older than 20 minutes.',
    access: { ...common.access, jwt: false },
    input: { params: z.object({ identityId: customId }) },
    reply: { status: 204, shape: empty, errors: ['user_identity_not_found', 'user_challenge_required'] },
  },
});
