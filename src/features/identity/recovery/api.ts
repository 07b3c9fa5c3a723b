import { z } from 'zod';
import { declare, json } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';
import { bodySizes } from '#src/contract/limits.js';
import { customId, pageUrl } from '#src/contract/shapes.js';
import { secretText } from '#src/contract/typed-secret.js';
import { tokenShape } from '../one-time-secrets/index.js';
import { passwordText } from '../users/index.js';

const common = {
  tag: 'account',
  access: { auth: ['guest', 'user', 'key'], scopes: ['users.write'], jwt: false },
  limits: { bodyBytes: bodySizes.account },
} as const;

/** Recovery of accounts with a lost password. */
export const recoveryApi = declare({
  request: {
    ...common,
    id: 'account.createRecovery',
    method: 'POST',
    path: '/account/recovery',
    summary: 'Sends a link that lets set a new password; unknown addresses are answered like known ones.',
    limits: { ...common.limits, calls: 'send' },
    input: { body: z.object({ email: emailAddress, url: pageUrl }) },
    reply: { status: 201, shape: json(tokenShape), errors: [] },
  },
  complete: {
    ...common,
    id: 'account.updateRecovery',
    method: 'PUT',
    path: '/account/recovery',
    summary: 'Sets a new password by the secret of the link and ends every session.',
    limits: { ...common.limits, calls: 'login' },
    input: { body: z.object({ userId: customId, secret: secretText, password: passwordText }) },
    reply: {
      status: 200,
      shape: json(tokenShape),
      errors: ['user_invalid_token', 'user_blocked', 'password_policy_violation'],
    },
  },
});
