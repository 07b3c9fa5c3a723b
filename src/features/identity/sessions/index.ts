import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Identities } from '../identities/index.js';
import { sessionsApi } from './api.js';
import { createExpiry } from './jobs.js';
import { createSessions } from './service.js';
import type { SessionDeps } from './sessions.js';
import { toSession } from './view.js';

export { noSession } from './service.js';
export { type CallByUser, type OpenedSession, type Sessions, workOnCaller } from './sessions.js';
export { sessionListShape, sessionShape, toNewSession, toSession } from './view.js';

/** A hook that runs before a session is extended, outside a unit of work. */
type ExtensionStep = (context: AuditContext, project: Project, session: Session) => Promise<void>;

/** Registers a hook that runs before a session is extended. */
export type BeforeExtension = (step: ExtensionStep) => void;

/** Sessions of end users. */
export function createSessionsFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'config'>,
  deps: SessionDeps & { readonly projects: Projects; readonly identities: Identities },
) {
  const { db } = runtime;
  const { identities } = deps;
  const sessions = createSessions(runtime, deps);
  const extensionSteps: ExtensionStep[] = [];
  const beforeExtension: BeforeExtension = (step) => {
    extensionSteps.push(step);
  };
  const shown = async (project: Project, actor: User, session: Session) => {
    const tokensOf = await identities.tokensOfSessions(db, project, actor.id);
    return toSession(session, ownId(actor), tokensOf(session));
  };
  const operations = implement(sessionsApi, {
    list: async ({ project, actor }) => {
      const found = await sessions.active(db, project, actor.id);
      const tokensOf = await identities.tokensOfSessions(db, project, actor.id);
      return {
        total: found.length,
        sessions: found.map((session) => toSession(session, ownId(actor), tokensOf(session))),
      };
    },
    get: async ({ project, actor, params }) =>
      shown(project, actor, await sessions.get(db, project, actor.id, named(actor, params.sessionId))),
    extend: async (call) => {
      const { project, actor, params } = call;
      const id = changed(actor, params.sessionId);
      const session = await sessions.get(db, project, actor.id, id);
      for (const step of extensionSteps) await step(auditContextOf(call), project, session);
      const extended = await db.work(auditContextOf(call), async (unit) =>
        sessions.extend(unit, project, await sessions.get(unit, project, actor.id, id)),
      );
      return shown(project, actor, extended);
    },
    delete: async (call) => {
      const { project, actor, params } = call;
      const id = changed(actor, params.sessionId);
      // A pending login may end only itself.
      if (actor.session.pending && id !== actor.session.id) throw new Failure('user_more_factors_required');
      await db.work(auditContextOf(call), async (unit) => {
        const session = actor.session.pending ? actor.session : await sessions.get(unit, project, actor.id, id);
        await sessions.close(unit, project, session);
      });
    },
    deleteAll: async (call) => {
      await db.work(auditContextOf(call), (unit) => sessions.closeAll(unit, call.project, call.actor.id));
    },
  });
  return { sessions, operations, jobs: [createExpiry(runtime, deps.projects)], beforeExtension };
}

/** A caller with a JWT has no session of its own; the JWT only refers to the session it was created from. */
function ownId({ via, session }: User): string | undefined {
  return via === 'jwt' ? undefined : session.id;
}

function named(actor: User, id: string): string {
  return id === 'current' ? (ownId(actor) ?? id) : id;
}

/** The session that a call changes. A JWT may change only the session it was created from. */
function changed(actor: User, idOrCurrent: string): string {
  const id = named(actor, idOrCurrent);
  if (actor.via === 'jwt' && id !== actor.session.id && id !== 'current') throw new Failure(...foreign);
  return id;
}

const foreign = [
  'general_unauthorized_scope',
  { message: 'A caller known by a JWT may change the session that the JWT was made from, and no other.' },
] as const;
