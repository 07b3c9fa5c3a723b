import { bodySizes } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';
import { sessionShape } from '../../sessions/index.js';

/** Login without any name: a new account that its owner may later give an address and a password. */
export const anonymousLoginApi = declare({
  login: {
    id: 'account.createAnonymousSession',
    method: 'POST',
    path: '/account/sessions/anonymous',
    summary: 'Creates an account without address and password, and logs it in.',
    tag: 'account',
    auth: ['guest', 'user', 'key'],
    jwt: false,
    scopes: ['sessions.write'],
    limit: 'anonymous',
    bodyBytes: bodySizes.account,
    status: 201,
    reply: json(sessionShape),
    errors: [],
    session: 'opens',
  },
});
