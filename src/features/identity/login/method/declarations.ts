import { z } from 'zod';
import { json } from '#src/contract/declaration.js';
import { bodySizes, providerLimits } from '#src/contract/limits.js';
import { customId } from '#src/contract/shapes.js';
import { otpText, secretText } from '#src/contract/typed-secret.js';
import { tokenShape } from '../../one-time-secrets/index.js';
import { sessionShape } from '../../sessions/index.js';

const common = {
  tag: 'account',
  access: { auth: ['guest', 'user', 'key'], scopes: ['sessions.write'], jwt: false },
  limits: { bodyBytes: bodySizes.account },
} as const;

/** Common part of the operations that log in. */
export const login = { ...common, reply: { status: 201, shape: json(sessionShape), session: 'opens' } } as const;

/** Common part of the operations that begin a login without opening a session. */
export const loginStart = { ...common, method: 'POST', reply: { status: 200 } } as const;

/** Common part of the operations that log in with a one-time secret. */
export const redemption = {
  ...login,
  method: 'PUT',
  limits: { ...login.limits, calls: 'login' },
  input: { body: z.object({ userId: customId, secret: secretText, otp: otpText.optional() }) },
  reply: { ...login.reply, errors: ['user_invalid_token', 'user_blocked', 'user_already_exists'] },
} as const;

/** Common part of the operations that send a one-time secret. */
export const secretRequest = {
  ...common,
  method: 'POST',
  limits: { ...common.limits, calls: 'send' },
  reply: { status: 201, shape: json(tokenShape) },
} as const;

/** The page of the application that a login at an identity provider leads to. */
export const applicationPage = z
  .string()
  .max(providerLimits.url)
  .default('')
  .meta({ description: 'A page on a platform of the project; without it the answer is JSON' });

/** Errors of the operations that complete a login at an identity provider, in addition to those of its protocol. */
export const externalErrors = [
  'general_bad_request',
  'general_unauthorized_scope',
  'project_provider_disabled',
  'user_already_exists',
  'user_blocked',
  'user_email_already_exists',
  'user_identity_limit_exceeded',
  'user_invalid_token',
  'user_missing_id',
  'user_more_factors_required',
] as const;
