import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';
import { customId, pageUrl } from '#src/contract/shapes.js';
import { tokenShape } from '../one-time-secrets/index.js';

const request = {
  tag: 'account',
  auth: ['user'],
  jwt: false,
  limit: 'send',
  bodyBytes: bodySizes.account,
  status: 201,
  reply: json(tokenShape),
} as const;

/** The secret alone redeems it, in whatever browser the message was opened. */
const confirmation = {
  tag: 'account',
  auth: ['guest', 'user', 'key'],
  jwt: false,
  scopes: ['users.write'],
  limit: 'login',
  bodyBytes: bodySizes.account,
  body: z.object({ userId: customId, secret: z.string().min(1).max(256) }),
  status: 200,
  reply: json(tokenShape),
  errors: ['user_invalid_token', 'user_blocked'],
} as const;

/** Proofs that a user holds an e-mail address or a phone number. */
export const verificationApi = declare({
  requestEmail: {
    ...request,
    id: 'account.createEmailVerification',
    method: 'POST',
    path: '/account/verifications/email',
    aliases: ['/account/verification'],
    summary: 'Sends a link that verifies the e-mail address; it leads to `url`, with userId and secret in its query.',
    body: z.object({ url: pageUrl }),
    errors: ['user_email_not_found', 'user_email_already_verified'],
  },
  confirmEmail: {
    ...confirmation,
    id: 'account.updateEmailVerification',
    method: 'PUT',
    path: '/account/verifications/email',
    aliases: ['/account/verification'],
    summary: 'Verifies the e-mail address by the secret of the link.',
  },
  requestPhone: {
    ...request,
    id: 'account.createPhoneVerification',
    method: 'POST',
    path: '/account/verifications/phone',
    aliases: ['/account/verification/phone'],
    summary: 'Sends a code of six digits that verifies the phone number.',
    errors: ['general_phone_disabled', 'user_phone_not_found', 'user_phone_already_verified'],
  },
  confirmPhone: {
    ...confirmation,
    id: 'account.updatePhoneVerification',
    method: 'PUT',
    path: '/account/verifications/phone',
    aliases: ['/account/verification/phone'],
    summary: 'Verifies the phone number by the code.',
  },
});
