import { z } from 'zod';
import { declare, empty, json } from '#src/contract/declaration.js';
import { bodySizes } from '#src/contract/limits.js';
import { customId, pageUrl } from '#src/contract/shapes.js';
import { secretText } from '#src/contract/typed-secret.js';
import { tokenShape } from '../one-time-secrets/index.js';

const request = {
  tag: 'account',
  access: { auth: ['user'], jwt: false },
  limits: { calls: 'send', bodyBytes: bodySizes.account },
  reply: { status: 201, shape: json(tokenShape) },
} as const;

/** Requires only the secret: the message may be opened in a browser without a session. */
const redemption = {
  tag: 'account',
  access: { auth: ['guest', 'user', 'key'], scopes: ['users.write'], jwt: false },
  limits: { calls: 'login', bodyBytes: bodySizes.account },
  input: { body: z.object({ userId: customId, secret: secretText }) },
} as const;
const confirmation = {
  ...redemption,
  reply: { status: 200, shape: json(tokenShape), errors: ['user_invalid_token', 'user_blocked'] },
} as const;

/** Verification of a user's email address or phone number. */
export const verificationApi = declare({
  requestEmail: {
    ...request,
    id: 'account.createEmailVerification',
    method: 'POST',
    path: '/account/verifications/email',
    aliases: ['/account/verification'],
    summary: 'Sends a link that verifies the email address; it leads to `url`, with userId and secret in its query.',
    input: { body: z.object({ url: pageUrl }) },
    reply: { ...request.reply, errors: ['user_email_not_found', 'user_email_already_verified'] },
  },
  confirmEmail: {
    ...confirmation,
    id: 'account.updateEmailVerification',
    method: 'PUT',
    path: '/account/verifications/email',
    aliases: ['/account/verification'],
    summary: 'Verifies the email address by the secret of the link. Nothing else of the account changes.',
  },
  removeEmail: {
    ...redemption,
    id: 'account.deleteEmailVerification',
    method: 'DELETE',
    path: '/account/verifications/email',
    summary: 'Removes the email address from the account by the secret of the second link of the verification mail.',
    reply: { status: 204, shape: empty, errors: ['user_invalid_token'] },
  },
  requestPhone: {
    ...request,
    id: 'account.createPhoneVerification',
    method: 'POST',
    path: '/account/verifications/phone',
    aliases: ['/account/verification/phone'],
    summary: 'Sends a code of six digits that verifies the phone number.',
    reply: {
      ...request.reply,
      errors: ['general_phone_disabled', 'user_phone_not_found', 'user_phone_already_verified'],
    },
  },
  confirmPhone: {
    ...confirmation,
    id: 'account.updatePhoneVerification',
    method: 'PUT',
    path: '/account/verifications/phone',
    aliases: ['/account/verification/phone'],
    summary: 'Verifies the phone number by the code. Nothing else of the account changes.',
  },
});
