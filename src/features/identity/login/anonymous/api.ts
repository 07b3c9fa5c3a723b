import { declare } from '#src/contract/declaration.js';
import { login } from '../method/declarations.js';

/** Login without credentials: creates an account; its owner may add an address and a password later. */
export const anonymousLoginApi = declare({
  login: {
    ...login,
    id: 'account.createAnonymousSession',
    method: 'POST',
    path: '/account/sessions/anonymous',
    summary: 'Creates an account without address and password, and logs it in.',
    access: { ...login.access, login: 'login.anonymous' },
    limits: { ...login.limits, calls: 'anonymous' },
    reply: { ...login.reply, errors: [] },
  },
});
