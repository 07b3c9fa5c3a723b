import { z } from 'zod';
import { declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';
import { bodySizes } from '#src/contract/limits.js';
import { customId, displayName, newId, phoneNumber } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/index.js';
import { creationTimes, labelList, passwordText, preferences, preferencesShape } from '../users/index.js';
import { managedUserShape } from './model/view.js';

const common = { tag: 'users', limits: { calls: 'data', bodyBytes: bodySizes.account } } as const;
const read = { ...common, method: 'GET', access: serverKeys('users.read') } as const;
const write = {
  ...common,
  access: serverKeys('users.write'),
  reply: { status: 200, shape: json(managedUserShape) },
} as const;
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
    input: { query: z.object({ ...listParameters, ...searchParameter }) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), users: z.array(managedUserShape) }).meta({ id: 'UserList' })),
      bound: 'budget',
      errors: ['general_cursor_not_found'],
    },
  },
  create: {
    ...write,
    id: 'users.create',
    method: 'POST',
    path: '/users',
    summary: 'Creates a user; email address, phone number and password may be left out.',
    input: {
      body: z.object({
        userId: newId,
        email: z.union([absent, emailAddress], noAddress),
        phone: z.union([absent, phoneNumber], noNumber),
        password: z.union([absent, passwordText], { error: 'must be a password of a bearable length, or empty' }),
        name: displayName.nullish().transform((name) => name ?? ''),
        ...creationTimes,
      }),
    },
    reply: { ...write.reply, status: 201, errors: ['user_already_exists', 'password_policy_violation'] },
  },
  get: {
    ...read,
    id: 'users.get',
    path: one,
    summary: 'Reads a user.',
    input: { params },
    reply: { status: 200, shape: json(managedUserShape), errors },
  },
  delete: {
    ...write,
    id: 'users.delete',
    method: 'DELETE',
    path: one,
    summary: 'Deletes a user with its sessions.',
    input: { params },
    reply: { status: 204, shape: empty, errors },
  },
  updateName: {
    ...write,
    id: 'users.updateName',
    method: 'PATCH',
    path: `${one}/name`,
    summary: 'Changes the name.',
    input: { params, body: z.object({ name: displayName }) },
    reply: { ...write.reply, errors },
  },
  updateEmail: {
    ...write,
    id: 'users.updateEmail',
    method: 'PATCH',
    path: `${one}/email`,
    summary: 'Changes the email address, which is unverified then; the empty string takes it away.',
    input: { params, body: z.object({ email: z.union([none, emailAddress], noAddress) }) },
    reply: { ...write.reply, errors: [...errors, 'user_email_already_exists'] },
  },
  updatePhone: {
    ...write,
    id: 'users.updatePhone',
    method: 'PATCH',
    path: `${one}/phone`,
    summary: 'Changes the phone number, which is unverified then; the empty string takes it away.',
    input: { params, body: z.object({ number: z.union([none, phoneNumber], noNumber) }) },
    reply: { ...write.reply, errors: [...errors, 'user_phone_already_exists'] },
  },
  updatePassword: {
    ...write,
    id: 'users.updatePassword',
    method: 'PATCH',
    path: `${one}/password`,
    summary: 'Sets a password and ends every session; the empty string takes the password away.',
    input: { params, body: z.object({ password: passwordText }) },
    reply: { ...write.reply, errors: [...errors, 'password_policy_violation'] },
  },
  updateLabels: {
    ...write,
    id: 'users.updateLabels',
    method: 'PUT',
    path: `${one}/labels`,
    summary: 'Replaces the labels; each gives the role label:NAME.',
    input: {
      params,
      body: z.object({
        labels: labelList,
      }),
    },
    reply: { ...write.reply, errors },
  },
  updateStatus: {
    ...write,
    id: 'users.updateStatus',
    method: 'PATCH',
    path: `${one}/status`,
    summary: 'Blocks a user (false), which ends every session, or lifts the block.',
    input: { params, body: z.object({ status: z.boolean() }) },
    reply: { ...write.reply, errors },
  },
  updateEmailVerification: {
    ...write,
    id: 'users.updateEmailVerification',
    method: 'PATCH',
    path: `${one}/verification`,
    summary: 'Says whether the email address is verified.',
    input: { params, body: z.object({ emailVerification: z.boolean() }) },
    reply: { ...write.reply, errors: [...errors, 'user_email_not_found'] },
  },
  updatePhoneVerification: {
    ...write,
    id: 'users.updatePhoneVerification',
    method: 'PATCH',
    path: `${one}/verification/phone`,
    summary: 'Says whether the phone number is verified.',
    input: { params, body: z.object({ phoneVerification: z.boolean() }) },
    reply: { ...write.reply, errors: [...errors, 'user_phone_not_found'] },
  },
  getPrefs: {
    ...read,
    id: 'users.getPrefs',
    path: `${one}/prefs`,
    summary: 'Reads the preferences of a user.',
    input: { params },
    reply: { status: 200, shape: json(preferencesShape), errors },
  },
  updatePrefs: {
    ...write,
    id: 'users.updatePrefs',
    method: 'PATCH',
    path: `${one}/prefs`,
    summary: 'Replaces the preferences of a user as a whole.',
    limits: { ...write.limits, bodyBytes: bodySizes.prefs },
    input: { params, body: z.object({ prefs: preferences }) },
    reply: { status: 200, shape: json(preferencesShape), errors },
  },
  updateImpersonator: {
    ...write,
    id: 'users.updateImpersonator',
    method: 'PATCH',
    path: `${one}/impersonator`,
    summary: 'Not supported: nobody acts as another user here.',
    input: { params, body: z.object({ impersonator: z.boolean() }) },
    reply: { ...write.reply, errors: [...errors, 'general_feature_unsupported'] },
  },
});
