import { z } from 'zod';
import { declare } from '#src/contract/operation.js';
import { emailAddress, otpText } from '#src/contract/shapes.js';
import { passwordText } from '../../users/index.js';
import { login } from '../declarations.js';

/** Login by e-mail address and password. */
export const passwordLoginApi = declare({
  login: {
    ...login,
    id: 'account.createEmailSession',
    login: 'login.password',
    method: 'POST',
    path: '/account/sessions/email',
    aliases: ['/account/sessions'],
    summary: 'Logs in by e-mail address and password.',
    limit: 'login',
    body: z.object({ email: emailAddress, password: passwordText, otp: otpText.optional() }),
    errors: ['user_invalid_credentials', 'user_blocked'],
  },
});
