import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { accessGranularitySeconds } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import { createLoader } from '#src/platform/db/batch.js';
import type { Runtime } from '#src/platform/index.js';
import { isRecent } from '#src/platform/runtime/clock.js';
import type { Users } from '../users/index.js';
import type { SessionReader, StoredSession } from './records.js';
import type { Sessions } from './sessions.js';
import type { SessionStore } from './store.js';

type Deps = Pick<Runtime, 'db' | 'sql' | 'clock'>;

/** Authenticates session secrets and JWTs. Every request of a user passes here. */
export function createSessionAuthentication(
  { db, sql, clock }: Deps,
  { store, reader, users }: { store: SessionStore; reader: SessionReader; users: Users },
): Pick<Sessions, 'authenticate' | 'authenticateById' | 'usersOf'> {
  const { isAlive, load, resolve } = reader;
  const lookup = createLoader(sql.dialect, (ids) => load(db, ids));

  const isOlder = (instant: Instant | null, seconds: number): boolean =>
    instant === null || !isRecent(instant, clock.now(), seconds * 1000);
  /** The last use is stored by the hour (session) and by the day (user), so that most requests do not write. */
  const touchAccess = (project: Project, { session, account }: StoredSession): Promise<void> | undefined => {
    const staleSession = isOlder(session.accessedAt, accessGranularitySeconds.session);
    const staleUser = isOlder(account.accessedAt, accessGranularitySeconds.account);
    if (!staleSession && !staleUser) return undefined;
    return db.note({ projectId: project.id, actor: { kind: 'user', id: account.id }, requestId: '' }, async (unit) => {
      if (staleSession) await unit.run(store.update(project.id, session.id, { accessedAt: unit.now }));
      if (staleUser) await users.touchAccess(unit, project.id, account.id);
    });
  };

  /** The user of a stored session, if the session is still valid. Throws Failure `user_blocked`. */
  const toActor = async (project: Project, found: StoredSession, via: User['via']): Promise<User | undefined> => {
    const { session, account } = found;
    if (!isAlive(session, project)) return undefined;
    if (!account.status) throw new Failure('user_blocked');
    if (session.endedAt !== null) return undefined;
    const touched = touchAccess(project, found);
    if (touched !== undefined) await touched;
    return { kind: 'user', id: account.id, account, session, via };
  };

  return {
    authenticate: async (project, secret, via) => {
      const found = await resolve(lookup, project.id, secret);
      return found && toActor(project, found, via);
    },
    authenticateById: async (project, userId, id) => {
      const found = await lookup(id);
      if (found === undefined) return undefined;
      const { session } = found;
      if (session.projectId !== project.id || session.userId !== userId || session.pending) return undefined;
      return toActor(project, found, 'jwt');
    },
    usersOf: async (project, ids) => {
      const found = ids.length === 0 ? new Map<string, StoredSession>() : await load(db, ids);
      const users = new Map<string, User>();
      for (const [id, { session, account }] of found) {
        const isOver = session.endedAt !== null || session.pending || !isAlive(session, project);
        if (isOver || !account.status || session.projectId !== project.id) continue;
        users.set(id, { kind: 'user', id: account.id, account, session, via: 'header' });
      }
      return users;
    },
  };
}
