import { z } from 'zod';
import { declare, json } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';

import { otpText } from '#src/contract/typed-secret.js';
import { loginResponse, requestOptions } from '../../passkeys/index.js';
import { login, loginStart } from '../method/declarations.js';

const email = emailAddress.optional().meta({
  description: 'Whose passkey; the same at start and finish. Without it the user chooses among those of the device',
});

/** Login with a passkey. */
export const passkeyLoginApi = declare({
  start: {
    ...loginStart,
    id: 'account.createPasskeyLogin',
    path: '/account/webauthn/login/start',
    summary: 'Begins a login by passkey. The answer does not tell whether the address is known.',
    access: { ...loginStart.access, login: 'login.passkey' },
    limits: { ...loginStart.limits, calls: 'ceremony' },
    input: { body: z.object({ email }) },
    reply: { status: 200, shape: json(z.object({ options: requestOptions })), errors: [] },
  },
  finish: {
    ...login,
    id: 'account.createPasskeySession',
    method: 'POST',
    path: '/account/webauthn/login/finish',
    summary: 'Logs in by what the passkey has signed. With user verification it counts as both factors.',
    access: { ...login.access, login: 'login.passkey' },
    limits: { ...login.limits, calls: 'login' },
    input: { body: z.object({ email, response: loginResponse, otp: otpText.optional() }) },
    reply: { ...login.reply, errors: ['user_invalid_credentials', 'user_blocked'] },
  },
});
