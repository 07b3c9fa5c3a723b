import { declare } from '#src/contract/operation.js';
import { login } from '../declarations.js';

/** Login without any name: a new account that its owner may later give an address and a password. */
export const anonymousLoginApi = declare({
  login: {
    ...login,
    id: 'account.createAnonymousSession',
    login: 'login.anonymous',
    method: 'POST',
    path: '/account/sessions/anonymous',
    summary: 'Creates an account without address and password, and logs it in.',
    limit: 'anonymous',
    errors: [],
  },
});
