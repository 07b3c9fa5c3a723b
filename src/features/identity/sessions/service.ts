import { Failure, sessionInvalid } from '#src/contract/errors.js';
import { freshLoginSeconds } from '#src/contract/limits.js';
import type { Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf, isRecent, millisecondsOf } from '#src/platform/runtime/clock.js';
import { unknownDevice } from '../../events/index.js';
import { createSessionAuthentication } from './authenticate.js';
import { createEnding } from './end.js';
import { createOpening } from './open.js';
import { createSessionReader } from './records.js';
import { createRenewal } from './renew.js';
import type { SessionDeps, Sessions } from './sessions.js';
import { createSessionStore } from './store.js';

/** Builds the sessions service. */
export function createSessions(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'config'>,
  deps: SessionDeps,
): Sessions {
  const { clock } = runtime;
  const { users } = deps;
  const store = createSessionStore(runtime.sql);
  const reader = createSessionReader(runtime, store);
  const ending = createEnding(store, reader);
  const { active, load } = reader;
  return {
    ...createSessionAuthentication(runtime, { store, reader, users }),
    ...createOpening({ ...runtime, ...deps, store, reader, ending }),
    ...createRenewal(runtime, store, reader),
    ...ending,
    active,
    holdCaller: async (unit, project, { id, account, session }) => {
      const current = await users.lockById(unit, project.id, id);
      if (current === undefined) throw new Failure('general_unauthorized_scope', { message: sessionInvalid });
      if (!current.status) throw new Failure('user_blocked');
      const found = session.id === '' ? undefined : (await load(unit, [session.id])).get(session.id);
      const isOpen =
        session.id === '' ? current.passwordUpdate === account.passwordUpdate : found?.session.endedAt === null;
      if (!isOpen) throw new Failure('general_unauthorized_scope', { message: sessionInvalid });
      return current;
    },
    get: async (db, project, userId, id) => {
      const found = (await active(db, project, userId)).find((session) => session.id === id);
      if (found === undefined) throw new Failure('user_session_not_found');
      return found;
    },
    wasFresh: (session, at) =>
      proofsOf(session).some((proof) => millisecondsOf(at) - millisecondsOf(proof) <= freshLoginSeconds * 1000),
    requireFresh: (session) => {
      if (!proofsOf(session).some((proof) => isRecent(proof, clock.now(), freshLoginSeconds * 1000)))
        throw new Failure('user_challenge_required');
    },
  };
}

/** The times of the login and of the last challenge. */
function proofsOf({ authenticatedAt, mfaUpdatedAt }: Session): Instant[] {
  return [authenticatedAt, mfaUpdatedAt].filter((proof) => proof !== null);
}

/** Placeholder session for a JWT issued without one. It is never fresh, because it proves nothing. */
export function noSession(userId: string): Session {
  const never = instantOf(0);
  return {
    id: '',
    userId,
    provider: '',
    providerUid: '',
    factors: [],
    ip: '',
    device: unknownDevice,
    pending: false,
    createdAt: never,
    updatedAt: never,
    expire: never,
    endsBy: null,
    authenticatedAt: never,
    accessedAt: never,
    mfaUpdatedAt: null,
  };
}
