import { z } from 'zod';
import { emailAddress } from '#src/contract/email-address.js';
import { bodySizes } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId, displayName, newId, phoneNumber } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/index.js';
import { creationTimes, labelList, passwordText, preferences, preferencesShape } from '../users/index.js';
import { managedUserShape } from './model/view.js';

const common = { tag: 'users', auth: ['key'], limit: 'data', bodyBytes: bodySizes.account } as const;
const read = { ...common, method: 'GET', scopes: ['users.read'], status: 200 } as const;
const write = { ...common, scopes: ['users.write'], status: 200, reply: json(managedUserShape) } as const;
const one = '/users/:userId';
const params = z.object({ userId: customId });
const errors = ['user_not_found'] as const;

const none = z.literal('').transform(() => null);
/** Absent, null and the empty string all mean "none". */
const absent = z
  .literal('')
  .nullish()
  .transform(() => null);
const noAddress = { error: 'must be an email address, or empty' } as const;
const noNumber = { error: 'must be a phone number such as +14155550123, or empty' } as const;

/** Users of a project, for server keys. */
export const managementApi = declare({
  list: {
    ...read,
    id: 'users.list',
    path: '/users',
    summary: 'Lists users; search looks into id, name, email address and phone number.',
    query: z.object({ ...listParameters, ...searchParameter }),
    reply: json(z.object({ total: z.int(), users: z.array(managedUserShape) }).meta({ id: 'UserList' })),
    bound: 'room',
    errors: ['general_cursor_not_found'],
  },
  create: {
    ...write,
    id: 'users.create',
    method: 'POST',
    path: '/users',
    summary: 'Creates a user; email address, phone number and password may be left out.',
    body: z.object({
      userId: newId,
      email: z.union([absent, emailAddress], noAddress),
      phone: z.union([absent, phoneNumber], noNumber),
      password: z.union([absent, passwordText], { error: 'must be a password of a bearable length, or empty' }),
      name: displayName.nullish().transform((name) => name ?? ''),
      ...creationTimes,
    }),
    status: 201,
    errors: ['user_already_exists', 'password_policy_violation'],
  },
  get: { ...read, id: 'users.get', path: one, summary: 'Reads a user.', params, reply: json(managedUserShape), errors },
  delete: {
    ...write,
    id: 'users.delete',
    method: 'DELETE',
    path: one,
    summary: 'Deletes a user with its sessions.',
    params,
    status: 204,
    reply: empty,
    errors,
  },
  updateName: {
    ...write,
    id: 'users.updateName',
    method: 'PATCH',
    path: `${one}/name`,
    summary: 'Changes the name.',
    params,
    body: z.object({ name: displayName }),
    errors,
  },
  updateEmail: {
    ...write,
    id: 'users.updateEmail',
    method: 'PATCH',
    path: `${one}/email`,
    summary: 'Changes the email address, which is unverified then; the empty string takes it away.',
    params,
    body: z.object({ email: z.union([none, emailAddress], noAddress) }),
    errors: [...errors, 'user_email_already_exists'],
  },
  updatePhone: {
    ...write,
    id: 'users.updatePhone',
    method: 'PATCH',
    path: `${one}/phone`,
    summary: 'Changes the phone number, which is unverified then; the empty string takes it away.',
    params,
    body: z.object({ number: z.union([none, phoneNumber], noNumber) }),
    errors: [...errors, 'user_phone_already_exists'],
  },
  updatePassword: {
    ...write,
    id: 'users.updatePassword',
    method: 'PATCH',
    path: `${one}/password`,
    summary: 'Sets a password and ends every session; the empty string takes the password away.',
    params,
    body: z.object({ password: passwordText }),
    errors: [...errors, 'password_policy_violation'],
  },
  updateLabels: {
    ...write,
    id: 'users.updateLabels',
    method: 'PUT',
    path: `${one}/labels`,
    summary: 'Replaces the labels; each gives the role label:NAME.',
    params,
    body: z.object({
      labels: labelList,
    }),
    errors,
  },
  updateStatus: {
    ...write,
    id: 'users.updateStatus',
    method: 'PATCH',
    path: `${one}/status`,
    summary: 'Blocks a user (false), which ends every session, or lifts the block.',
    params,
    body: z.object({ status: z.boolean() }),
    errors,
  },
  updateEmailVerification: {
    ...write,
    id: 'users.updateEmailVerification',
    method: 'PATCH',
    path: `${one}/verification`,
    summary: 'Says whether the email address is verified.',
    params,
    body: z.object({ emailVerification: z.boolean() }),
    errors: [...errors, 'user_email_not_found'],
  },
  updatePhoneVerification: {
    ...write,
    id: 'users.updatePhoneVerification',
    method: 'PATCH',
    path: `${one}/verification/phone`,
    summary: 'Says whether the phone number is verified.',
    params,
    body: z.object({ phoneVerification: z.boolean() }),
    errors: [...errors, 'user_phone_not_found'],
  },
  getPrefs: {
    ...read,
    id: 'users.getPrefs',
    path: `${one}/prefs`,
    summary: 'Reads the preferences of a user.',
    params,
    reply: json(preferencesShape),
    errors,
  },
  updatePrefs: {
    ...write,
    id: 'users.updatePrefs',
    method: 'PATCH',
    path: `${one}/prefs`,
    summary: 'Replaces the preferences of a user as a whole.',
    params,
    bodyBytes: bodySizes.prefs,
    body: z.object({ prefs: preferences }),
    reply: json(preferencesShape),
    errors,
  },
  updateImpersonator: {
    ...write,
    id: 'users.updateImpersonator',
    method: 'PATCH',
    path: `${one}/impersonator`,
    summary: 'Not supported: nobody acts as another user here.',
    params,
    body: z.object({ impersonator: z.boolean() }),
    errors: [...errors, 'general_feature_unsupported'],
  },
});
