import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';
import { customId, otpText } from '#src/contract/shapes.js';
import { sessionShape } from '../../sessions/index.js';

const common = {
  tag: 'account',
  auth: ['guest', 'user', 'key'],
  jwt: false,
  scopes: ['sessions.write'],
  limit: 'login',
  bodyBytes: bodySizes.account,
  body: z.object({ userId: customId, secret: z.string().min(1).max(256), otp: otpText.optional() }),
  status: 201,
  reply: json(sessionShape),
  errors: ['user_invalid_token', 'user_blocked', 'user_already_exists'],
  session: 'opens',
} as const;

/** Login by a code or link that was sent, or by a token that a server made. */
export const tokenLoginApi = declare({
  login: {
    ...common,
    id: 'account.createSession',
    method: 'POST',
    path: '/account/sessions/token',
    summary: 'Logs in by a link, a code or a token. Whoever is not known yet gets an account.',
  },
  loginByLink: {
    ...common,
    id: 'account.updateMagicURLSession',
    method: 'PUT',
    path: '/account/sessions/magic-url',
    summary: 'Logs in by a mailed link; POST /account/sessions/token does the same.',
  },
  loginByPhone: {
    ...common,
    id: 'account.updatePhoneSession',
    method: 'PUT',
    path: '/account/sessions/phone',
    summary: 'Logs in by a code from an SMS; POST /account/sessions/token does the same.',
  },
});
