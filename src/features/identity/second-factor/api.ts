import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { otpText } from '#src/contract/typed-secret.js';
import { secondFactors } from '../factors/index.js';
import { sessionShape } from '../sessions/index.js';
import { userShape } from '../users/index.js';
import { challengeShape, enrolmentShape, factorsShape, recoveryCodesShape } from './view.js';

const common = { tag: 'account', auth: ['user'], jwt: false, limit: 'data', bodyBytes: bodySizes.account } as const;
const authenticator = {
  ...common,
  path: '/account/mfa/authenticators/:type',
  params: z.object({ type: z.enum(['totp']) }),
};
const challenge = {
  ...common,
  path: '/account/mfa/challenges',
  aliases: ['/account/mfa/challenge'],
  pending: true,
} as const;
const recoveryCodes = { ...common, path: '/account/mfa/recovery-codes', reply: json(recoveryCodesShape) } as const;
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
    body: z.object({ mfa: z.boolean() }),
    status: 200,
    reply: json(userShape),
    errors: ['user_challenge_required'],
  },
  factors: {
    ...common,
    id: 'account.listMfaFactors',
    method: 'GET',
    path: '/account/mfa/factors',
    summary: 'Lists which second factors can be used; for a login that lacks one, which it can use.',
    pending: true,
    status: 200,
    reply: json(factorsShape),
    errors: [],
  },
  beginTotp: {
    ...common,
    id: 'account.createTotp',
    method: 'POST',
    path: '/account/mfa/totp',
    summary: 'Begins the enrolment of an authenticator app; one that was never verified is replaced.',
    status: 200,
    reply: json(enrolmentShape),
    errors: ['user_authenticator_already_verified', 'user_challenge_required'],
  },
  confirmTotp: {
    ...common,
    id: 'account.confirmTotp',
    method: 'PUT',
    path: '/account/mfa/totp',
    summary: 'Verifies the authenticator app by a code, turns the second factor on and makes recovery codes.',
    body: otpOrCode,
    status: 200,
    reply: json(recoveryCodesShape),
    errors: confirmationErrors,
  },
  createAuthenticator: {
    ...authenticator,
    id: 'account.createMfaAuthenticator',
    method: 'POST',
    summary: 'Begins the enrolment of an authenticator app; one that was never verified is replaced.',
    status: 200,
    reply: json(enrolmentShape),
    errors: ['user_authenticator_already_verified', 'user_challenge_required'],
  },
  updateAuthenticator: {
    ...authenticator,
    id: 'account.updateMfaAuthenticator',
    method: 'PUT',
    summary: 'Verifies the authenticator app by a code.',
    body: z.object({ otp: otpText }),
    status: 200,
    reply: json(userShape),
    errors: confirmationErrors,
  },
  deleteAuthenticator: {
    ...authenticator,
    id: 'account.deleteMfaAuthenticator',
    method: 'DELETE',
    summary: 'Removes the authenticator app.',
    status: 204,
    reply: empty,
    errors: ['user_authenticator_not_found', 'user_challenge_required'],
  },
  createChallenge: {
    ...challenge,
    id: 'account.createMfaChallenge',
    method: 'POST',
    summary: 'Begins a challenge; by email and phone it sends a code.',
    body: z.object({ factor: factorName }),
    status: 201,
    reply: json(challengeShape),
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
  updateChallenge: {
    ...challenge,
    id: 'account.updateMfaChallenge',
    method: 'PUT',
    summary: 'Answers a challenge: completes a login, or proves again who holds the session. Both give a new secret.',
    body: z.object({ challengeId: z.string().max(36), otp: otpText }),
    status: 200,
    reply: json(sessionShape),
    errors: ['user_invalid_token', 'user_auth_method_unsupported'],
    session: 'opens',
  },
  createRecoveryCodes: {
    ...recoveryCodes,
    id: 'account.createMfaRecoveryCodes',
    method: 'POST',
    summary: 'Makes recovery codes, which no later answer shows again.',
    status: 201,
    errors: ['user_recovery_codes_already_exists', 'user_challenge_required'],
  },
  getRecoveryCodes: {
    ...recoveryCodes,
    id: 'account.getMfaRecoveryCodes',
    method: 'GET',
    summary: 'Tells how many recovery codes are left, by a mask for each.',
    status: 200,
    errors: ['user_recovery_codes_not_found', 'user_challenge_required'],
  },
  updateRecoveryCodes: {
    ...recoveryCodes,
    id: 'account.updateMfaRecoveryCodes',
    method: 'PATCH',
    summary: 'Makes new recovery codes; those before are void.',
    status: 200,
    errors: ['user_recovery_codes_not_found', 'user_challenge_required'],
  },
});
