import { z } from 'zod';
import { declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { bodySizes } from '#src/contract/limits.js';
import { customId } from '#src/contract/shapes.js';
import { factorsShape, recoveryCodesShape } from '../../second-factor/index.js';
import { managedUserShape } from '../model/view.js';

const params = z.object({ userId: customId });
const common = { tag: 'users', limits: { calls: 'data', bodyBytes: bodySizes.account }, input: { params } } as const;
const recoveryCodes = {
  ...common,
  path: '/users/:userId/mfa/recovery-codes',
  reply: { status: 200, shape: json(recoveryCodesShape) },
} as const;

/** Second factors of users, for server keys. */
export const managedFactorsApi = declare({
  update: {
    ...common,
    id: 'users.updateMfa',
    method: 'PATCH',
    path: '/users/:userId/mfa',
    summary: 'Turns the second factor on or off for a user.',
    access: serverKeys('users.write'),
    input: { ...common.input, body: z.object({ mfa: z.boolean() }) },
    reply: { status: 200, shape: json(managedUserShape), errors: ['user_not_found'] },
  },
  list: {
    ...common,
    id: 'users.listMfaFactors',
    method: 'GET',
    path: '/users/:userId/mfa/factors',
    summary: 'Tells which second factors a user can use.',
    access: serverKeys('users.read'),
    reply: { status: 200, shape: json(factorsShape), errors: ['user_not_found'] },
  },
  deleteAuthenticator: {
    ...common,
    id: 'users.deleteMfaAuthenticator',
    method: 'DELETE',
    path: '/users/:userId/mfa/authenticators/:type',
    summary: "Takes a user's authenticator app away.",
    access: serverKeys('users.write'),
    input: { params: params.extend({ type: z.enum(['totp']) }) },
    reply: { status: 204, shape: empty, errors: ['user_not_found', 'user_authenticator_not_found'] },
  },
  getRecoveryCodes: {
    ...recoveryCodes,
    id: 'users.getMfaRecoveryCodes',
    method: 'GET',
    summary: 'Tells how many recovery codes a user has left, by a mask for each.',
    access: serverKeys('users.read'),
    reply: { ...recoveryCodes.reply, errors: ['user_not_found', 'user_recovery_codes_not_found'] },
  },
  createRecoveryCodes: {
    ...recoveryCodes,
    id: 'users.createMfaRecoveryCodes',
    method: 'PATCH',
    summary: 'Makes ten recovery codes for a user who has none.',
    access: serverKeys('users.write'),
    reply: { ...recoveryCodes.reply, errors: ['user_not_found', 'user_recovery_codes_already_exists'] },
  },
  updateRecoveryCodes: {
    ...recoveryCodes,
    id: 'users.updateMfaRecoveryCodes',
    method: 'PUT',
    summary: 'Makes ten recovery codes in the place of those before.',
    access: serverKeys('users.write'),
    reply: { ...recoveryCodes.reply, errors: ['user_not_found', 'user_recovery_codes_not_found'] },
  },
});
