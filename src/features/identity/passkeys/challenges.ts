import { passkeyLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import { digest, equalDigests, keyedDigest } from '#src/platform/crypto/digest.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { instantOf, isAhead, isRunning, millisecondsOf } from '#src/platform/runtime/clock.js';
import { type PasskeyStore, webauthnChallenges } from './store.js';

/** The use of a challenge. A challenge for one purpose and subject is not valid for any other. */
interface ChallengeUse {
  readonly purpose: 'registration' | 'login';
  /** The id of the user who registers, or the address given at login; empty if none was given. */
  readonly subject: string;
}

/** Challenges of WebAuthn ceremonies. */
export interface CeremonyChallenges {
  readonly jobs: Job[];
  /** Creates a challenge and stores its digest. */
  issue(unit: Unit, project: Project, use: ChallengeUse): Promise<string>;
  /** Consumes a challenge, whether the call succeeds or not. True if it was issued for this use and has not expired. */
  take(unit: Unit, project: Project, challenge: string, use: ChallengeUse): Promise<boolean>;
}

/** Challenges of WebAuthn ceremonies (WebAuthn L3 §13.4.3): 256 random bits, valid for one finish call within five minutes. */
export function createCeremonyChallenges(
  { db, clock, random, sealing }: Pick<Runtime, 'db' | 'clock' | 'random' | 'sealing'>,
  store: PasskeyStore,
): CeremonyChallenges {
  const pepper = sealing.derive('webauthn-challenges');
  const subjectOf = (projectId: string, { purpose, subject }: ChallengeUse, at: Instant) =>
    keyedDigest(pepper(at), [projectId, purpose, subject].join('\n'));
  const lifeMs = passkeyLimits.ceremonySeconds * 1000;
  const prune: Job = {
    name: 'passkeys.prune',
    schedule: '0 50 * * * *',
    summary: 'Deletes challenges of passkey ceremonies that have expired',
    lease: 'database',
    run: async (signal) => {
      const by = { projectId: null, actor: { kind: 'job', id: 'passkeys.prune' }, requestId: random.id() };
      await pruneInBatches(db, by, signal, (limit) => store.pruneChallenges(instantOf(clock.now()), limit));
    },
  };
  return {
    jobs: [prune],
    issue: async (unit, project, use) => {
      const challenge = random.secret();
      const expire = instantOf(millisecondsOf(unit.now) + lifeMs);
      const row = { projectId: project.id, digest: digest(challenge), purpose: use.purpose, expire };
      await unit.run(
        store.putChallenge({ ...row, subject: subjectOf(project.id, use, unit.now), createdAt: unit.now }),
      );
      return challenge;
    },
    take: async (unit, project, challenge, use) => {
      const taken = await unit.one(store.takeChallenge(project.id, digest(challenge)));
      if (taken === undefined) return false;
      const row = webauthnChallenges.decode(taken);
      const now = clock.now();
      const isFresh = isRunning(row.expire, now, lifeMs) && !isAhead(row.createdAt, now);
      return (
        isFresh && row.purpose === use.purpose && equalDigests(row.subject, subjectOf(project.id, use, row.createdAt))
      );
    },
  };
}
