import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { keyedDigest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { type Limits, proofKey } from '../../../installation/index.js';
import { type AuthenticatorRow, authenticators, type FactorStore, recoveryCodes, sealedSeeds } from '../store.js';
import { readRecoveryCode } from './recovery-codes.js';
import type { Totp } from './totp.js';

/** A second factor that is proved by a code which nobody sends. */
export type CodeFactor = 'totp' | 'recoverycode';

const aad = (row: string) => ({ column: sealedSeeds, row });

/** Proving a second factor by a code of an authenticator app or a recovery code; both share one limit, which only failures use up. */
export function createProof(
  { clock, sealing }: Pick<Runtime, 'clock' | 'sealing'>,
  { store, totp, limits }: { store: FactorStore; totp: Totp; limits: Limits },
) {
  const pepper = sealing.derive('recovery-codes');
  const digestOf = (projectId: string, userId: string, letters: string) =>
    keyedDigest(pepper, [projectId, userId, letters].join('\n'));

  const authenticator = async (
    reader: Reader,
    project: Project,
    userId: string,
  ): Promise<AuthenticatorRow | undefined> => {
    const row = await reader.one(store.authenticator({ projectId: project.id, userId }));
    return row && authenticators.decode(row);
  };
  const codesLeft = async (reader: Reader, project: Project, userId: string): Promise<number | undefined> => {
    const codes = (await reader.all(store.codes(project.id, userId))).map((row) => recoveryCodes.decode(row));
    return codes.length === 0 ? undefined : codes.filter(({ usedAt }) => usedAt === null).length;
  };
  const seedOf = (project: Project, { userId, sealedSeed }: AuthenticatorRow) =>
    sealing.tryOpen(project.id, project.dataKey, aad(userId), sealedSeed);

  /** Whether the code is one of this authenticator's; then its step is spent. Of several at once one succeeds. */
  const spendStep = async (unit: Unit, project: Project, row: AuthenticatorRow, typed: string): Promise<boolean> => {
    const code = typed.replace(/\s/g, '');
    if (!/^\d{6}$/.test(code)) return false;
    const seed = seedOf(project, row);
    const step = seed === undefined ? undefined : totp.stepOf(seed, code, clock.now(), row.lastStep);
    return step !== undefined && (await unit.run(store.spendStep(row, step))) === 1;
  };
  const spendRecoveryCode = async (unit: Unit, project: Project, userId: string, typed: string): Promise<boolean> => {
    const letters = readRecoveryCode(typed);
    if (letters === undefined) return false;
    const digest = digestOf(project.id, userId, letters);
    if ((await unit.run(store.spendCode(project.id, userId, digest, unit.now))) !== 1) return false;
    const left = (await codesLeft(unit, project, userId)) ?? 0;
    unit.record('recoveryCodeUsed', { resource: `users/${userId}/recovery-codes`, userId, payload: { userId, left } });
    return true;
  };
  const spend = async (
    unit: Unit,
    project: Project,
    userId: string,
    typed: string,
    allowed: readonly CodeFactor[],
  ): Promise<CodeFactor | undefined> => {
    const row = allowed.includes('totp') ? await authenticator(unit, project, userId) : undefined;
    if (row?.verified && (await spendStep(unit, project, row, typed))) return 'totp';
    const isRecovered = allowed.includes('recoverycode') && (await spendRecoveryCode(unit, project, userId, typed));
    return isRecovered ? 'recoverycode' : undefined;
  };
  /** Counts a try before anything is compared, and gives it back where it was right. Refuses with 429. */
  const counted = async <T>(
    unit: Unit,
    userId: string,
    attempt: () => Promise<T | undefined>,
  ): Promise<T | undefined> => {
    const key = { account: proofKey(userId) };
    await limits.demand(unit, 'mfa', key);
    const proved = await attempt();
    if (proved !== undefined) await limits.forgive(unit, 'mfa', key);
    return proved;
  };

  return {
    authenticator,
    /** How many recovery codes a user has left; undefined where there never were any. */
    codesLeft,
    digestOf,
    seal: (project: Project, userId: string, seed: string) =>
      sealing.seal(project.id, project.dataKey, aad(userId), seed),
    /** Whether a code belongs to an authenticator that is not verified yet; true or undefined. Refuses with 429. */
    ofEnrolment: (unit: Unit, project: Project, row: AuthenticatorRow, typed: string): Promise<true | undefined> =>
      counted(unit, row.userId, async () => ((await spendStep(unit, project, row, typed)) ? true : undefined)),
    /** Which factor a code proves; undefined where it proves none: the caller ends with `unit.refuse`. Refuses with 429 by itself. */
    of: (
      unit: Unit,
      project: Project,
      { id }: UserRecord,
      typed: string,
      allowed: readonly CodeFactor[],
    ): Promise<CodeFactor | undefined> => counted(unit, id, () => spend(unit, project, id, typed, allowed)),
  };
}

/** Proving second factors. */
export type Proof = ReturnType<typeof createProof>;
