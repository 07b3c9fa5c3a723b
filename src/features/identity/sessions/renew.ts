import { Failure, sessionInvalid } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import { digest } from '#src/platform/crypto/digest.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { SecondFactor } from '../factors/index.js';
import { type SessionReader, sessionRecord, sessionSecretOf } from './records.js';
import type { Sessions } from './sessions.js';
import type { SessionStore } from './store.js';

/** Creates the functions that change open sessions: a longer life, a new secret, another factor. */
export function createRenewal(
  { random }: Pick<Runtime, 'random'>,
  store: SessionStore,
  { expiry }: SessionReader,
): Pick<Sessions, 'noteFactor' | 'extend' | 'renew'> {
  const addFactor = async (
    unit: Unit,
    project: Project,
    session: Session,
    factor: SecondFactor,
    mfaUpdatedAt: Instant | null,
  ): Promise<Session> => {
    const change = { factors: [...new Set([...session.factors, factor])], mfaUpdatedAt, updatedAt: unit.now };
    await unit.run(store.update(project.id, session.id, change));
    const strengthened = { ...session, ...change };
    unit.record('sessionUpdated', sessionRecord(strengthened));
    return strengthened;
  };

  return {
    noteFactor: (unit, project, session, factor) => addFactor(unit, project, session, factor, session.mfaUpdatedAt),
    extend: async (unit, project, session) => {
      const change = { expire: expiry(project, unit.now, session), updatedAt: unit.now };
      await unit.run(store.update(project.id, session.id, change));
      const extended = { ...session, ...change };
      unit.record('sessionUpdated', sessionRecord(extended));
      return extended;
    },
    renew: async (unit, project, session, factor) => {
      const secret = random.secret();
      const change = { secretDigest: digest(secret), updatedAt: unit.now };
      if ((await unit.run(store.update(project.id, session.id, change))) === 0)
        throw new Failure('general_unauthorized_scope', { message: sessionInvalid });
      if (factor !== undefined) {
        const proved = await addFactor(unit, project, session, factor, unit.now);
        return { session: proved, secret: sessionSecretOf(session.id, secret) };
      }
      const renewed = { ...session, updatedAt: unit.now };
      unit.record('sessionUpdated', sessionRecord(renewed));
      return { session: renewed, secret: sessionSecretOf(session.id, secret) };
    },
  };
}
