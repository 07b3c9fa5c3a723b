import { z } from 'zod';
import { emailAddress } from '#src/contract/email-address.js';
import { declare } from '#src/contract/operation.js';

import { otpText } from '#src/contract/typed-secret.js';
import { passwordText } from '../../users/index.js';
import { login } from '../method/declarations.js';

/** Login with email address and password. */
export const passwordLoginApi = declare({
  login: {
    ...login,
    id: 'account.createEmailSession',
    login: 'login.password',
    method: 'POST',
    path: '/account/sessions/email',
    aliases: ['/account/sessions'],
    summary: 'Logs in by email address and password.',
    limit: 'login',
    body: z.object({ email: emailAddress, password: passwordText, otp: otpText.optional() }),
    errors: ['user_invalid_credentials', 'user_blocked'],
  },
});
