import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId } from '#src/contract/shapes.js';
import { factorsShape, recoveryCodesShape } from '../../second-factor/index.js';
import { managedUserShape } from '../model/view.js';

const params = z.object({ userId: customId });
const common = { tag: 'users', auth: ['key'], limit: 'data', bodyBytes: bodySizes.account, params } as const;
const recoveryCodes = {
  ...common,
  path: '/users/:userId/mfa/recovery-codes',
  status: 200,
  reply: json(recoveryCodesShape),
} as const;

/** Second factors of users, for server keys. */
export const managedFactorsApi = declare({
  update: {
    ...common,
    id: 'users.updateMfa',
    method: 'PATCH',
    path: '/users/:userId/mfa',
    summary: 'Turns the second factor on or off for a user.',
    scopes: ['users.write'],
    body: z.object({ mfa: z.boolean() }),
    status: 200,
    reply: json(managedUserShape),
    errors: ['user_not_found'],
  },
  list: {
    ...common,
    id: 'users.listMfaFactors',
    method: 'GET',
    path: '/users/:userId/mfa/factors',
    summary: 'Tells which second factors a user can use.',
    scopes: ['users.read'],
    status: 200,
    reply: json(factorsShape),
    errors: ['user_not_found'],
  },
  deleteAuthenticator: {
    ...common,
    id: 'users.deleteMfaAuthenticator',
    method: 'DELETE',
    path: '/users/:userId/mfa/authenticators/:type',
    summary: "Takes a user's authenticator app away.",
    scopes: ['users.write'],
    params: params.extend({ type: z.enum(['totp']) }),
    status: 204,
    reply: empty,
    errors: ['user_not_found', 'user_authenticator_not_found'],
  },
  getRecoveryCodes: {
    ...recoveryCodes,
    id: 'users.getMfaRecoveryCodes',
    method: 'GET',
    summary: 'Tells how many recovery codes a user has left, by a mask for each.',
    scopes: ['users.read'],
    errors: ['user_not_found', 'user_recovery_codes_not_found'],
  },
  createRecoveryCodes: {
    ...recoveryCodes,
    id: 'users.createMfaRecoveryCodes',
    method: 'PATCH',
    summary: 'Makes ten recovery codes for a user who has none.',
    scopes: ['users.write'],
    errors: ['user_not_found', 'user_recovery_codes_already_exists'],
  },
  updateRecoveryCodes: {
    ...recoveryCodes,
    id: 'users.updateMfaRecoveryCodes',
    method: 'PUT',
    summary: 'Makes ten recovery codes in the place of those before.',
    scopes: ['users.write'],
    errors: ['user_not_found', 'user_recovery_codes_not_found'],
  },
});
