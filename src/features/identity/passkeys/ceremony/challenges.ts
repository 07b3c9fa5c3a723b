import { passkeyLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { instantOf, isAhead, isRunning, millisecondsOf } from '#src/platform/clock.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Unit } from '#src/platform/db/unit.js';
import { digest, equalDigests, keyedDigest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import { type PasskeyStore, webauthnChallenges } from '../store.js';

/** What a challenge is made for; one that was made for one purpose and one subject serves no other. */
interface ChallengeUse {
  readonly purpose: 'registration' | 'login';
  /** The id of the user who registers, the address that a login names, or empty where it names none. */
  readonly subject: string;
}

/** Challenges of WebAuthn ceremonies (WebAuthn L3 §13.4.3): 256 random bits, good for one finish call within five minutes. */
export function createChallenges(
  { db, clock, random, sealing }: Pick<Runtime, 'db' | 'clock' | 'random' | 'sealing'>,
  store: PasskeyStore,
) {
  const pepper = sealing.derive('webauthn-challenges');
  const subjectOf = (projectId: string, { purpose, subject }: ChallengeUse) =>
    keyedDigest(pepper, [projectId, purpose, subject].join('\n'));
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
    /** Makes a challenge and keeps a digest of it. */
    issue: async (unit: Unit, project: Project, use: ChallengeUse): Promise<string> => {
      const challenge = random.secret();
      const expire = instantOf(millisecondsOf(unit.now) + lifeMs);
      const row = { projectId: project.id, digest: digest(challenge), purpose: use.purpose, expire };
      await unit.run(store.putChallenge({ ...row, subject: subjectOf(project.id, use), createdAt: unit.now }));
      return challenge;
    },
    /** Consumes a challenge, whatever comes of the call; whether it was made for this use and has not expired. */
    take: async (unit: Unit, project: Project, challenge: string, use: ChallengeUse): Promise<boolean> => {
      const taken = await unit.one(store.takeChallenge(project.id, digest(challenge)));
      if (taken === undefined) return false;
      const row = webauthnChallenges.decode(taken);
      const now = clock.now();
      const isFresh = isRunning(row.expire, now, lifeMs) && !isAhead(row.createdAt, now);
      return isFresh && row.purpose === use.purpose && equalDigests(row.subject, subjectOf(project.id, use));
    },
  };
}

/** Challenges of ceremonies. */
export type CeremonyChallenges = ReturnType<typeof createChallenges>;
