import { declare } from '#src/contract/operation.js';
import { redemption } from '../declarations.js';

/** Login by a code or link that was sent, or by a token that a server made. */
export const serverTokenApi = declare({
  login: {
    ...redemption,
    id: 'account.createSession',
    errors: [...redemption.errors, 'user_auth_method_unsupported'],
    method: 'POST',
    path: '/account/sessions/token',
    summary: 'Logs in by a link, a code or a token. An unknown contact gets an account.',
  },
});
