import { z } from 'zod';
import { declare, empty, json } from '#src/contract/declaration.js';
import { bodySizes, passkeyLimits } from '#src/contract/limits.js';
import { customId, required, visibleText } from '#src/contract/shapes.js';
import { creationOptions, registrationResponse } from './shapes.js';
import { passkeyListShape, passkeyShape } from './view.js';

const common = {
  tag: 'account',
  access: { auth: ['user'], jwt: false },
  limits: { bodyBytes: bodySizes.account },
} as const;
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
    limits: { ...common.limits, calls: 'ceremony' },
    reply: {
      status: 200,
      shape: json(z.object({ options: creationOptions })),
      errors: ['user_challenge_required', 'user_passkey_limit_exceeded'],
    },
  },
  finish: {
    ...common,
    id: 'account.createPasskey',
    method: 'POST',
    path: '/account/mfa/webauthn/register/finish',
    summary: 'Verifies and stores the passkey that the browser has made.',
    limits: { ...common.limits, calls: 'data' },
    input: { body: z.object({ response: registrationResponse, name: name.default('') }) },
    reply: {
      status: 201,
      shape: json(passkeyShape),
      errors: [
        'user_challenge_required',
        'user_invalid_credentials',
        'user_passkey_already_exists',
        'user_passkey_limit_exceeded',
      ],
    },
  },
  list: {
    ...common,
    id: 'account.listPasskeys',
    method: 'GET',
    path: '/account/passkeys',
    summary: 'Lists the passkeys of the signed-in user.',
    limits: { ...common.limits, calls: 'data' },
    reply: { status: 200, shape: json(passkeyListShape), bound: passkeyBound, errors: [] },
  },
  rename: {
    ...common,
    id: 'account.updatePasskey',
    method: 'PATCH',
    path: '/account/passkeys/:passkeyId',
    summary: 'Changes the name of a passkey.',
    limits: { ...common.limits, calls: 'data' },
    input: { params, body: z.object({ name: required(name) }) },
    reply: { status: 200, shape: json(passkeyShape), errors: ['user_passkey_not_found'] },
  },
  delete: {
    ...common,
    id: 'account.deletePasskey',
    method: 'DELETE',
    path: '/account/passkeys/:passkeyId',
    summary: 'Removes a passkey. Needs a login or challenge not older than 20 minutes.',
    limits: { ...common.limits, calls: 'data' },
    input: { params },
    reply: { status: 204, shape: empty, errors: ['user_challenge_required', 'user_passkey_not_found'] },
  },
});
