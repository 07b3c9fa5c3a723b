import { z } from 'zod';
import { declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { customId } from '#src/contract/shapes.js';
import { passkeyBound, passkeyListShape } from '../../passkeys/index.js';

const params = z.object({ userId: customId });
const common = { tag: 'users', limits: { calls: 'data' } } as const;

/** Passkeys of users, for server keys. */
export const managedPasskeysApi = declare({
  list: {
    ...common,
    id: 'users.listPasskeys',
    method: 'GET',
    path: '/users/:userId/passkeys',
    summary: 'Lists the passkeys of a user.',
    access: serverKeys('users.read'),
    input: { params },
    reply: { status: 200, shape: json(passkeyListShape), bound: passkeyBound, errors: ['user_not_found'] },
  },
  delete: {
    ...common,
    id: 'users.deletePasskey',
    method: 'DELETE',
    path: '/users/:userId/passkeys/:passkeyId',
    summary: 'Removes a passkey of a user.',
    access: serverKeys('users.write'),
    input: { params: params.extend({ passkeyId: customId }) },
    reply: { status: 204, shape: empty, errors: ['user_not_found', 'user_passkey_not_found'] },
  },
});
