import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Unit } from '#src/platform/db/unit.js';
import { type SessionReader, sessionRecord } from './records.js';
import type { Sessions } from './sessions.js';
import type { SessionStore } from './store.js';

/** The functions that end sessions. */
export interface SessionEnding
  extends Pick<Sessions, 'close' | 'closeAll' | 'closeOfIdentity' | 'endAll' | 'dropPending'> {
  endPresented(unit: Unit, project: Project, presented: string | null): Promise<void>;
}

/** Creates the functions that end sessions. */
export function createEnding(store: SessionStore, { load, resolve, stored, pending }: SessionReader): SessionEnding {
  const close = async (unit: Unit, project: Project, session: Session): Promise<boolean> => {
    if ((await unit.run(store.remove({ projectId: project.id, id: session.id }))) === 0) return false;
    // Pending sessions (second factor missing) were never announced.
    if (!session.pending) unit.record('sessionDeleted', sessionRecord(session));
    return true;
  };
  return {
    close,
    closeAll: async (unit, project, userId, exceptId) => {
      let closed = 0;
      for (const session of await stored(unit, project, userId)) {
        if (session.id !== exceptId && (await close(unit, project, session))) closed += 1;
      }
      return closed;
    },
    closeOfIdentity: async (unit, project, { userId, provider, providerUid }, exceptId) => {
      for (const session of await stored(unit, project, userId)) {
        const isOpenedByIt = session.provider === provider && session.providerUid === providerUid;
        if (isOpenedByIt && session.id !== exceptId) await close(unit, project, session);
      }
    },
    endAll: async (unit, project, userId) => {
      for (const session of await stored(unit, project, userId)) {
        await unit.run(store.update(project.id, session.id, { endedAt: unit.now }));
        if (!session.pending) unit.record('sessionDeleted', sessionRecord(session));
      }
    },
    dropPending: async (unit, project, userId) => {
      for (const session of await pending(unit, project, userId)) await close(unit, project, session);
    },
    /** Ends the session that the same browser had before. */
    endPresented: async (unit, project, presented) => {
      if (presented === null) return;
      const previous = await resolve(async (id) => (await load(unit, [id])).get(id), project.id, presented);
      if (previous !== undefined && previous.session.endedAt === null) await close(unit, project, previous.session);
    },
  };
}
