import type { User } from '#src/contract/actor.js';
import { by, implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Projects } from '../projects/index.js';
import { sessionsApi } from './api.js';
import { createExpiry } from './expiry.js';
import { createSessions } from './service.js';
import { toSession } from './view.js';

export { noSession, type Sessions } from './service.js';
export { sessionShape, toNewSession } from './view.js';

/** Sessions of end users. */
export function createSessionsFeature(
  platform: Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'config'>,
  accounts: Accounts,
  projects: Projects,
) {
  const { db } = platform;
  const sessions = createSessions(platform, accounts);
  /** A caller known by a JWT has no session of its own, only the one that the token was made from. */
  const ownId = ({ via, session }: User) => (via === 'jwt' ? undefined : session.id);
  const named = (actor: User, id: string) => (id === 'current' ? (ownId(actor) ?? id) : id);
  const operations = implement(sessionsApi, {
    list: async ({ project, actor }) => {
      const found = await sessions.active(db, project, actor.id);
      return { total: found.length, sessions: found.map((session) => toSession(session, ownId(actor))) };
    },
    get: async ({ project, actor, params }) =>
      toSession(await sessions.get(db, project, actor.id, named(actor, params.sessionId)), ownId(actor)),
    extend: async (call) => {
      const { project, actor, params } = call;
      const extended = await db.work(by(call), async (unit) =>
        sessions.extend(unit, project, await sessions.get(unit, project, actor.id, named(actor, params.sessionId))),
      );
      return toSession(extended, ownId(actor));
    },
    delete: async (call) => {
      const { project, actor, params } = call;
      await db.work(by(call), async (unit) =>
        sessions.close(unit, project, await sessions.get(unit, project, actor.id, named(actor, params.sessionId))),
      );
    },
    deleteAll: async (call) => {
      await db.work(by(call), (unit) => sessions.closeAll(unit, call.project, call.actor.id));
    },
  });
  return { sessions, operations, jobs: [createExpiry(platform, projects)] };
}
