import { declare } from '#src/contract/declaration.js';
import { redemption } from '../method/declarations.js';

/** Login with a code or link that was sent, or with a token created by a server. */
export const serverTokenApi = declare({
  login: {
    ...redemption,
    id: 'account.createSession',
    method: 'POST',
    path: '/account/sessions/token',
    summary: 'Logs in by a link, a code or a token. An unknown contact gets an account.',
    reply: { ...redemption.reply, errors: [...redemption.reply.errors, 'user_auth_method_unsupported'] },
  },
});
