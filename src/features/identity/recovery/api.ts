import { z } from 'zod';
import { bodySizes } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';
import { customId, emailAddress, pageUrl } from '#src/contract/shapes.js';
import { tokenShape } from '../one-time-secrets/index.js';
import { passwordText } from '../users/index.js';

const common = {
  tag: 'account',
  auth: ['guest', 'user', 'key'],
  jwt: false,
  scopes: ['users.write'],
  bodyBytes: bodySizes.account,
} as const;

/** A new password for who has lost the old one. */
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
    body: z.object({ userId: customId, secret: z.string().min(1).max(256), password: passwordText }),
    status: 200,
    reply: json(tokenShape),
    errors: ['user_invalid_token', 'user_blocked', 'password_policy_violation'],
  },
});
