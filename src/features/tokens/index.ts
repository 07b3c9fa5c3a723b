import { Failure } from '#src/contract/errors.js';
import { by, implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Limits } from '../limits/index.js';
import type { Sessions } from '../sessions/index.js';
import type { SigningKeys } from '../signing-keys/index.js';
import { tokensApi } from './api.js';
import { createTokens } from './service.js';

export { jwtShape, jwtWishes } from './api.js';
export type { Tokens } from './service.js';

/** JWTs by which a backend acts for a user. */
export function createTokensFeature(
  platform: Pick<Platform, 'db' | 'clock' | 'random' | 'jwt' | 'config'>,
  doors: { accounts: Accounts; sessions: Sessions; signingKeys: SigningKeys; limits: Limits },
) {
  const tokens = createTokens(platform, doors);
  const operations = implement(tokensApi, {
    create: async (call) => {
      const { project, actor, body } = call;
      if (actor.via === 'jwt') throw new Failure('user_jwt_creation_denied');
      const account = { account: `session:${actor.session.id}` };
      await platform.db.work(by(call), (unit) => doors.limits.demand(unit, 'jwt', account));
      return { jwt: await tokens.mint(project, actor.account, actor.session, body) };
    },
  });
  return { tokens, operations };
}
