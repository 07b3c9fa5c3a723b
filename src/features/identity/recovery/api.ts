import { z } from 'zod';
import { emailAddress } from '#src/contract/email-address.js';
import { bodySizes } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';
import { customId, pageUrl } from '#src/contract/shapes.js';
import { secretText } from '#src/contract/typed-secret.js';
import { tokenShape } from '../one-time-secrets/index.js';
import { passwordText } from '../users/index.js';

const common = {
  tag: 'account',
  auth: ['guest', 'user', 'key'],
  jwt: false,
  scopes: ['users.write'],
  bodyBytes: bodySizes.account,
} as const;

/** Recovery of accounts with a lost password. */
export const recoveryApi = declare({
  request: {
    ...common,
    id: 'account.createRecovery',
    method: 'POST',
    path: '/account/recovery',
    summary: 'Sends a link that lets set a new password; unknown addresses are answered like known ones.',
    limit: 'send',
    body: z.object({ email: emailAddress, url: pageUrl }),
    status: 201,
    reply: json(tokenShape),
    errors: [],
  },
  complete: {
    ...common,
    id: 'account.updateRecovery',
    method: 'PUT',
    path: '/account/recovery',
    summary: 'Sets a new password by the secret of the link and ends every session.',
    limit: 'login',
    body: z.object({ userId: customId, secret: secretText, password: passwordText }),
    status: 200,
    reply: json(tokenShape),
    errors: ['user_invalid_token', 'user_blocked', 'password_policy_violation'],
  },
});
