import type { User } from '#src/contract/actor.js';
import { clockSkewSeconds, jwtLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import type { ReaderCredential, ReaderSources } from '../../events/index.js';
import type { Installation } from '../../installation/index.js';
import { noSession, type Sessions } from '../sessions/index.js';
import type { Users } from '../users/index.js';

/**
 * Resolves credentials that were accepted earlier to their users, as long as the credentials are still valid. Streams and sockets call it
 * before they send.
 */
export function createEventReaders(
  { db, clock }: Pick<Runtime, 'db' | 'clock'>,
  { users, sessions, serverKeys }: { users: Users; sessions: Sessions } & Pick<Installation, 'serverKeys'>,
): ReaderSources['users'] {
  /**
   * True if a JWT has expired or the password has changed since. A remaining lifetime above the maximum means that the clock was set back;
   * such a JWT counts as expired.
   */
  const isOver = ({ jwt }: ReaderCredential, user: User): boolean => {
    if (jwt === undefined) return false;
    const left = jwt.expires - clock.now() / 1000;
    return left <= 0 || left > jwtSeconds || user.account.passwordUpdate !== jwt.passwordUpdate;
  };
  return async (project, credentials) => {
    const ids = [...new Set(credentials.map(({ sessionId }) => sessionId).filter((id) => id !== ''))];
    const bySession = await sessions.usersOf(project, ids);
    const found = new Map<ReaderCredential, User>();
    for (const credential of credentials) {
      const { userId, sessionId } = credential;
      const user = sessionId === '' ? await withoutSession(project.id, userId) : bySession.get(sessionId);
      if (user === undefined || user.id !== userId || isOver(credential, user)) continue;
      const key = credential.jwt?.actingKey;
      if (key !== undefined && !(project.settings['jwt.byKeys'] && (await serverKeys.counts(project, key)))) continue;
      found.set(credential, user);
    }
    return found;
  };

  async function withoutSession(projectId: string, userId: string): Promise<User | undefined> {
    const account = await users.find(db, projectId, userId);
    return account?.status ? { kind: 'user', id: userId, account, session: noSession(userId), via: 'jwt' } : undefined;
  }
}

/** Maximum lifetime of a JWT plus the tolerated clock skew. */
const jwtSeconds = jwtLimits.maxSeconds + clockSkewSeconds;
