import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';
import { emailAddress, otpText } from '#src/contract/shapes.js';
import { passwordText } from '../../accounts/index.js';
import { sessionShape } from '../../sessions/index.js';

/** Login by e-mail address and password. */
export const passwordLoginApi = declare({
  login: {
    id: 'account.createEmailSession',
    method: 'POST',
    path: '/account/sessions/email',
    aliases: ['/account/sessions'],
    summary: 'Logs in by e-mail address and password.',
    tag: 'account',
    auth: ['guest', 'user', 'key'],
    jwt: false,
    scopes: ['sessions.write'],
    limit: 'login',
    bodyBytes: bodySizes.account,
    body: z.object({ email: emailAddress, password: passwordText, otp: otpText.optional() }),
    status: 201,
    reply: json(sessionShape),
    errors: ['user_invalid_credentials', 'user_blocked'],
    session: 'opens',
  },
});
