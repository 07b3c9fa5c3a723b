import { Failure } from '#src/contract/errors.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import type { Limits, ServerKeys } from '../../installation/index.js';
import type { Sessions } from '../sessions/index.js';
import type { SigningKeys } from '../signing-keys/index.js';
import type { Users } from '../users/index.js';
import { tokensApi } from './api.js';
import { createTokens } from './service.js';

export { jwtShape, jwtWishes } from './api.js';
export type { Tokens } from './service.js';

/** JWTs that let a backend act for a user. */
export function createTokensFeature(
  runtime: Pick<Runtime, 'db' | 'clock' | 'random' | 'jwt' | 'config'>,
  deps: { users: Users; sessions: Sessions; signingKeys: SigningKeys; serverKeys: ServerKeys; limits: Limits },
) {
  const tokens = createTokens(runtime, deps);
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
