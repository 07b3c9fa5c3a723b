import { z } from 'zod';
import { bodySizes, passkeyLimits } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId, required, visibleText } from '#src/contract/shapes.js';
import { creationOptions, registrationResponse } from './shapes.js';
import { passkeyListShape, passkeyShape } from './view.js';

const common = { tag: 'account', auth: ['user'], jwt: false, bodyBytes: bodySizes.account } as const;
const name = visibleText(passkeyLimits.name);
const params = z.object({ passkeyId: customId });
/** The size limit of a list of a user's passkeys. */
export const passkeyBound = { entries: passkeyLimits.perUser, bytes: 1024 } as const;

/** The passkeys of the signed-in user. */
export const passkeysApi = declare({
  start: {
    ...common,
    id: 'account.createPasskeyRegistration',
    method: 'POST',
    path: '/account/mfa/webauthn/register/start',
    summary: 'Begins the registration of a passkey. Needs a login or challenge not older than 20 minutes.',
    limit: 'ceremony',
    status: 200,
    reply: json(z.object({ options: creationOptions })),
    errors: ['user_challenge_required', 'user_passkey_limit_exceeded'],
  },
  finish: {
    ...common,
    id: 'account.createPasskey',
    method: 'POST',
    path: '/account/mfa/webauthn/register/finish',
    summary: 'Verifies and stores the passkey that the browser has made.',
    limit: 'data',
    body: z.object({ response: registrationResponse, name: name.default('') }),
    status: 201,
    reply: json(passkeyShape),
    errors: [
      'user_challenge_required',
      'user_invalid_credentials',
      'user_passkey_already_exists',
      'user_passkey_limit_exceeded',
    ],
  },
  list: {
    ...common,
    id: 'account.listPasskeys',
    method: 'GET',
    path: '/account/passkeys',
    summary: 'Lists the passkeys of the signed-in user.',
    limit: 'data',
    status: 200,
    reply: json(passkeyListShape),
    bound: passkeyBound,
    errors: [],
  },
  rename: {
    ...common,
    id: 'account.updatePasskey',
    method: 'PATCH',
    path: '/account/passkeys/:passkeyId',
    summary: 'Changes the name of a passkey.',
    limit: 'data',
    params,
    body: z.object({ name: required(name) }),
    status: 200,
    reply: json(passkeyShape),
    errors: ['user_passkey_not_found'],
  },
  delete: {
    ...common,
    id: 'account.deletePasskey',
    method: 'DELETE',
    path: '/account/passkeys/:passkeyId',
    summary: 'Removes a passkey. Needs a login or challenge not older than 20 minutes.',
    limit: 'data',
    params,
    status: 204,
    reply: empty,
    errors: ['user_challenge_required', 'user_passkey_not_found'],
  },
});
