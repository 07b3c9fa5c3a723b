import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { by, implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import type { Projects } from '../projects/index.js';
import { sessionsApi } from './api.js';
import { createExpiry } from './expiry.js';
import { createSessions, type SessionDoors } from './service.js';
import { toSession } from './view.js';

export type { OpenedSession, Sessions } from './service.js';
export { sessionShape, toNewSession } from './view.js';

/** Sessions of end users. */
export function createSessionsFeature(
  platform: Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'config'>,
  doors: SessionDoors & { readonly projects: Projects },
) {
  const { db } = platform;
  const sessions = createSessions(platform, doors);
  const named = (actor: User, id: string) => (id === 'current' ? actor.session.id : id);
  const operations = implement(sessionsApi, {
    list: async ({ project, actor }) => {
      const found = await sessions.active(db, project, actor.id);
      return { total: found.length, sessions: found.map((session) => toSession(session, actor.session.id)) };
    },
    get: async ({ project, actor, params }) =>
      toSession(await sessions.get(db, project, actor.id, named(actor, params.sessionId)), actor.session.id),
    extend: async (call) => {
      const { project, actor, params } = call;
      const extended = await db.work(by(call), async (unit) =>
        sessions.extend(unit, project, await sessions.get(unit, project, actor.id, named(actor, params.sessionId))),
      );
      return toSession(extended, actor.session.id);
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
