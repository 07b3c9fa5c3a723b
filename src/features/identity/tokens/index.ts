import { Failure } from '#src/contract/errors.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Limits } from '../../installation/index.js';
import { tokensApi } from './api.js';
import { createTokens, type TokenDeps } from './service.js';

export { jwtShape, jwtWishes } from './api.js';
export type { Tokens } from './service.js';

/** JWTs that let a backend act for a user. */
export function createTokensFeature(deps: TokenDeps & { readonly limits: Limits }) {
  const tokens = createTokens(deps);
  const operations = implement(tokensApi, {
    create: async (call) => {
      const { project, actor, body } = call;
      if (actor.via === 'jwt') throw new Failure('user_jwt_creation_denied');
      const account = { account: `session:${actor.session.id}` };
      const mint = () => tokens.mint(project, actor.account, actor.session, body);
      return { jwt: await deps.limits.attempt(auditContextOf(call), 'jwt', account, mint) };
    },
  });
  return { tokens, operations };
}
