import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { by, implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import type { Projects } from '../projects/index.js';
import { sessionsApi } from './api.js';
import { createExpiry } from './expiry.js';
import { createSessions, type SessionDoors } from './service.js';
import { toSession } from './view.js';

export { noSession, type OpenedSession, type Sessions } from './service.js';
export { sessionShape, toNewSession } from './view.js';

/** Sessions of end users. */
export function createSessionsFeature(
  platform: Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'config'>,
  doors: SessionDoors & { readonly projects: Projects },
) {
  const { db } = platform;
  const sessions = createSessions(platform, doors);
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
      const id = named(actor, params.sessionId);
      // A login that lacks its second factor may give itself up, and nothing else.
      if (actor.session.pending && id !== actor.session.id) throw new Failure('user_more_factors_required');
      await db.work(by(call), async (unit) => {
        const session = actor.session.pending ? actor.session : await sessions.get(unit, project, actor.id, id);
        await sessions.close(unit, project, session);
      });
    },
    deleteAll: async (call) => {
      await db.work(by(call), (unit) => sessions.closeAll(unit, call.project, call.actor.id));
    },
  });
  return { sessions, operations, jobs: [createExpiry(platform, doors.projects)] };
}
