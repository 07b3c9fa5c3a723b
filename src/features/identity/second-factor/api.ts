import { z } from 'zod';
import { declare, empty, json } from '#src/contract/declaration.js';
import { bodySizes } from '#src/contract/limits.js';
import { otpText } from '#src/contract/typed-secret.js';
import { secondFactors } from '../factors/index.js';
import { sessionShape } from '../sessions/index.js';
import { userShape } from '../users/index.js';
import { challengeShape, enrolmentShape, factorsShape, recoveryCodesShape } from './view.js';

const common = {
  tag: 'account',
  access: { auth: ['user'], jwt: false },
  limits: { calls: 'data', bodyBytes: bodySizes.account },
} as const;
const authenticator = {
  ...common,
  path: '/account/mfa/authenticators/:type',
  input: { params: z.object({ type: z.enum(['totp']) }) },
};
const challenge = {
  ...common,
  path: '/account/mfa/challenges',
  aliases: ['/account/mfa/challenge'],
  access: { ...common.access, pending: true },
} as const;
const enrolment = {
  status: 200,
  shape: json(enrolmentShape),
  errors: ['user_authenticator_already_verified', 'user_challenge_required'],
} as const;
const recoveryCodes = {
  ...common,
  path: '/account/mfa/recovery-codes',
  reply: {
    status: 200,
    shape: json(recoveryCodesShape),
    errors: ['user_recovery_codes_not_found', 'user_challenge_required'],
  },
} as const;
const confirmationErrors = [
  'user_authenticator_not_found',
  'user_authenticator_already_verified',
  'user_invalid_token',
  'user_challenge_required',
] as const;
/** A code named `otp` or `code`. */
const otpOrCode = z
  .object({ otp: otpText.optional(), code: otpText.optional() })
  .transform(({ otp, code }, context) => {
    const secret = otp ?? code;
    if (secret === undefined) context.addIssue({ code: 'custom', path: ['otp'], message: 'is missing' });
    return { otp: secret ?? '' };
  });
/** Case-insensitive, because SDKs spell `recoverycode` differently. */
const factorName = z
  .string()
  .max(36)
  .transform((name) => name.toLowerCase())
  .pipe(z.enum(secondFactors));

/** The second factor of the signed-in user. */
export const secondFactorApi = declare({
  update: {
    ...common,
    id: 'account.updateMfa',
    method: 'PATCH',
    path: '/account/mfa',
    summary: 'Turns the second factor on or off; off needs a login or challenge not older than 20 minutes.',
    input: { body: z.object({ mfa: z.boolean() }) },
    reply: { status: 200, shape: json(userShape), errors: ['user_challenge_required'] },
  },
  factors: {
    ...common,
    id: 'account.listMfaFactors',
    method: 'GET',
    path: '/account/mfa/factors',
    summary: 'Lists which second factors can be used; for a login that lacks one, which it can use.',
    access: { ...common.access, pending: true },
    reply: { status: 200, shape: json(factorsShape), errors: [] },
  },
  beginTotp: {
    ...common,
    id: 'account.createTotp',
    method: 'POST',
    path: '/account/mfa/totp',
    summary: 'Begins the enrolment of an authenticator app; one that was never verified is replaced.',
    reply: enrolment,
  },
  confirmTotp: {
    ...common,
    id: 'account.confirmTotp',
    method: 'PUT',
    path: '/account/mfa/totp',
    summary: 'Verifies the authenticator app by a code, turns the second factor on and makes recovery codes.',
    input: { body: otpOrCode },
    reply: { status: 200, shape: json(recoveryCodesShape), errors: confirmationErrors },
  },
  createAuthenticator: {
    ...authenticator,
    id: 'account.createMfaAuthenticator',
    method: 'POST',
    summary: 'Begins the enrolment of an authenticator app; one that was never verified is replaced.',
    reply: enrolment,
  },
  updateAuthenticator: {
    ...authenticator,
    id: 'account.updateMfaAuthenticator',
    method: 'PUT',
    summary: 'Verifies the authenticator app by a code.',
    input: { ...authenticator.input, body: z.object({ otp: otpText }) },
    reply: { status: 200, shape: json(userShape), errors: confirmationErrors },
  },
  deleteAuthenticator: {
    ...authenticator,
    id: 'account.deleteMfaAuthenticator',
    method: 'DELETE',
    summary: 'Removes the authenticator app.',
    reply: { status: 204, shape: empty, errors: ['user_authenticator_not_found', 'user_challenge_required'] },
  },
  createChallenge: {
    ...challenge,
    id: 'account.createMfaChallenge',
    method: 'POST',
    summary: 'Begins a challenge; by email and phone it sends a code.',
    input: { body: z.object({ factor: factorName }) },
    reply: {
      status: 201,
      shape: json(challengeShape),
      errors: [
        'user_email_not_found',
        'user_email_not_verified',
        'user_phone_not_found',
        'user_phone_not_verified',
        'general_phone_disabled',
        'user_authenticator_not_found',
        'user_recovery_codes_not_found',
        'user_auth_method_unsupported',
      ],
    },
  },
  updateChallenge: {
    ...challenge,
    id: 'account.updateMfaChallenge',
    method: 'PUT',
    summary: 'Answers a challenge: completes a login, or proves again who holds the session. Both give a new secret.',
    input: { body: z.object({ challengeId: z.string().max(36), otp: otpText }) },
    reply: {
      status: 200,
      shape: json(sessionShape),
      session: 'opens',
      errors: ['user_invalid_token', 'user_auth_method_unsupported'],
    },
  },
  createRecoveryCodes: {
    ...recoveryCodes,
    id: 'account.createMfaRecoveryCodes',
    method: 'POST',
    summary: 'Makes recovery codes, which no later answer shows again.',
    reply: {
      ...recoveryCodes.reply,
      status: 201,
      errors: ['user_recovery_codes_already_exists', 'user_challenge_required'],
    },
  },
  getRecoveryCodes: {
    ...recoveryCodes,
    id: 'account.getMfaRecoveryCodes',
    method: 'GET',
    summary: 'Tells how many recovery codes are left, by a mask for each.',
  },
  updateRecoveryCodes: {
    ...recoveryCodes,
    id: 'account.updateMfaRecoveryCodes',
    method: 'PATCH',
    summary: 'Makes new recovery codes; those before are void.',
  },
});
