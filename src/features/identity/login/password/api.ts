import { z } from 'zod';
import { declare } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';

import { otpText } from '#src/contract/typed-secret.js';
import { passwordText } from '../../users/index.js';
import { login } from '../method/declarations.js';

/** Login with email address and password. */
export const passwordLoginApi = declare({
  login: {
    ...login,
    id: 'account.createEmailSession',
    method: 'POST',
    path: '/account/sessions/email',
    aliases: ['/account/sessions'],
    summary: 'Logs in by email address and password.',
    access: { ...login.access, login: 'login.password' },
    limits: { ...login.limits, calls: 'login' },
    input: { body: z.object({ email: emailAddress, password: passwordText, otp: otpText.optional() }) },
    reply: { ...login.reply, errors: ['user_invalid_credentials', 'user_blocked'] },
  },
});
