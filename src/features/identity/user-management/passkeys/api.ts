import { z } from 'zod';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId } from '#src/contract/shapes.js';
import { passkeyBound, passkeyListShape } from '../../passkeys/index.js';

const params = z.object({ userId: customId });
const common = { tag: 'users', auth: ['key'], limit: 'data' } as const;

/** Passkeys of users, for server keys. */
export const managedPasskeysApi = declare({
  list: {
    ...common,
    id: 'users.listPasskeys',
    method: 'GET',
    path: '/users/:userId/passkeys',
    summary: 'Lists the passkeys of a user.',
    scopes: ['users.read'],
    params,
    status: 200,
    reply: json(passkeyListShape),
    bound: passkeyBound,
    errors: ['user_not_found'],
  },
  delete: {
    ...common,
    id: 'users.deletePasskey',
    method: 'DELETE',
    path: '/users/:userId/passkeys/:passkeyId',
    summary: 'Removes a passkey of a user.',
    scopes: ['users.write'],
    params: params.extend({ passkeyId: customId }),
    status: 204,
    reply: empty,
    errors: ['user_not_found', 'user_passkey_not_found'],
  },
});
