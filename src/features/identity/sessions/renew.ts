import { Failure, sessionInvalid } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
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
  const update = async (unit: Unit, project: Project, session: Session, change: Partial<Session>): Promise<Session> => {
    const all = { ...change, updatedAt: unit.now };
    await unit.run(store.update(project.id, session.id, all));
    const after = { ...session, ...all };
    unit.record('sessionUpdated', sessionRecord(after));
    return after;
  };
  const factorsWith = ({ factors }: Session, factor: SecondFactor) => [...new Set([...factors, factor])];

  return {
    noteFactor: (unit, project, session, factor) =>
      update(unit, project, session, {
        factors: factorsWith(session, factor),
        mfaUpdatedAt: session.mfaUpdatedAt,
      }),
    extend: (unit, project, session) => update(unit, project, session, { expire: expiry(project, unit.now, session) }),
    renew: async (unit, project, session, factor) => {
      const secret = random.secret();
      const proof = factor === undefined ? {} : { factors: factorsWith(session, factor), mfaUpdatedAt: unit.now };
      const change = { ...proof, updatedAt: unit.now };
      const stored = { ...change, secretDigest: digest(secret) };
      if ((await unit.run(store.update(project.id, session.id, stored))) === 0)
        throw new Failure('general_unauthorized_scope', { message: sessionInvalid });
      const renewed = { ...session, ...change };
      unit.record('sessionUpdated', sessionRecord(renewed));
      return { session: renewed, secret: sessionSecretOf(session.id, secret) };
    },
  };
}
