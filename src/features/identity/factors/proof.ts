import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { keyedDigest } from '#src/platform/crypto/digest.js';
import type { DerivedKey } from '#src/platform/crypto/key-ring.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { type Limits, proofKey } from '../../installation/index.js';
import { readRecoveryCode } from './recovery-codes.js';
import { type AuthenticatorRow, authenticators, type FactorStore, recoveryCodes, sealedSeeds } from './store.js';
import type { Totp } from './totp.js';

/** A second factor proved by a code that is not sent. */
export type CodeFactor = 'totp' | 'recoverycode';

interface Deps extends Pick<Runtime, 'clock' | 'sealing'> {
  readonly store: FactorStore;
  readonly totp: Totp;
  readonly limits: Limits;
  readonly pepper: DerivedKey;
}

type Allowed = readonly CodeFactor[];

const aad = (row: string) => ({ column: sealedSeeds, row });

/** Verification of second factors. */
export interface Proof {
  authenticator(reader: Reader, project: Project, userId: string): Promise<AuthenticatorRow | undefined>;
  /** Number of unused recovery codes; undefined if the user has never had any. */
  codesLeft(reader: Reader, project: Project, userId: string): Promise<number | undefined>;
  /** The time when the recovery codes were created; undefined if the user has none. */
  codesCreatedAt(reader: Reader, project: Project, userId: string): Promise<Instant | undefined>;
  /** The stored form of a recovery code that is created at a time. */
  digestOf(projectId: string, userId: string, letters: string, at: Instant): string;
  seal(project: Project, userId: string, seed: string): string;
  /** The seed of an authenticator; undefined if it was sealed for another row. */
  open(project: Project, row: AuthenticatorRow): string | undefined;
  /** Verifies the code of an authenticator that is not confirmed yet: true or undefined. Refuses with 429 over the limit. */
  ofEnrolment(unit: Unit, project: Project, row: AuthenticatorRow, typed: string): Promise<true | undefined>;
  /**
   * The factor that a code proves. Undefined if it proves none; the caller must then end with `unit.refuse`. Refuses with 429 over the
   * limit.
   */
  of(unit: Unit, project: Project, user: UserRecord, typed: string, allowed: Allowed): Promise<CodeFactor | undefined>;
}

/** Verifies codes of authenticator apps and recovery codes as second factor. Both share one limit, which only failures use up. */
export function createProof(given: Omit<Deps, 'pepper'>): Proof {
  const deps: Deps = { ...given, pepper: given.sealing.derive('recovery-codes') };
  return {
    ...bind(deps, { authenticator, codesLeft, codesCreatedAt, digestOf, seal, open }),
    ofEnrolment: (unit, project, row, typed) =>
      counted(deps, unit, row.userId, async () =>
        (await spendStep(deps, unit, project, row, typed)) ? true : undefined,
      ),
    of: (unit, project, { id }, typed, allowed) =>
      counted(deps, unit, id, () => spend(deps, unit, project, id, typed, allowed)),
  };
}

async function authenticator({ store }: Deps, reader: Reader, project: Project, userId: string) {
  const row = await reader.one(store.authenticator({ projectId: project.id, userId }));
  return row && authenticators.decode(row);
}

async function codesOf({ store }: Deps, reader: Reader, project: Project, userId: string) {
  return (await reader.all(store.codes(project.id, userId))).map((row) => recoveryCodes.decode(row));
}

async function codesLeft(deps: Deps, reader: Reader, project: Project, userId: string) {
  const codes = await codesOf(deps, reader, project, userId);
  return codes.length === 0 ? undefined : codes.filter(({ usedAt }) => usedAt === null).length;
}

async function codesCreatedAt(deps: Deps, reader: Reader, project: Project, userId: string) {
  return (await codesOf(deps, reader, project, userId))[0]?.createdAt;
}

function digestOf({ pepper }: Deps, projectId: string, userId: string, letters: string, at: Instant): string {
  return keyedDigest(pepper(at), [projectId, userId, letters].join('\n'));
}

function seal({ sealing }: Deps, project: Project, userId: string, seed: string): string {
  return sealing.seal(project.id, project.dataKey, aad(userId), seed);
}

function open({ sealing }: Deps, project: Project, { userId, sealedSeed }: AuthenticatorRow): string | undefined {
  return sealing.tryOpen(project.id, project.dataKey, aad(userId), sealedSeed);
}

/** Counts an attempt before the code is compared, and resets the count if the code was right. Refuses with 429 over the limit. */
async function counted<T>({ limits }: Deps, unit: Unit, userId: string, attempt: () => Promise<T | undefined>) {
  const key = { account: proofKey(userId) };
  await limits.consume(unit, 'mfa', key);
  const proved = await attempt();
  if (proved !== undefined) await limits.forgive(unit, 'mfa', key);
  return proved;
}

/** True if the code is valid for this authenticator; its time step is then used up. Only one of several parallel attempts succeeds. */
async function spendStep(deps: Deps, unit: Unit, project: Project, row: AuthenticatorRow, code: string) {
  if (!/^\d{6}$/.test(code)) return false;
  const { clock, store, totp } = deps;
  const seed = open(deps, project, row);
  const step = seed === undefined ? undefined : totp.stepOf(seed, code, clock.now(), row.lastStep);
  return step !== undefined && (await unit.run(store.spendStep(row, step))) === 1;
}

async function spend(deps: Deps, unit: Unit, project: Project, userId: string, typed: string, allowed: Allowed) {
  const row = allowed.includes('totp') ? await authenticator(deps, unit, project, userId) : undefined;
  if (row?.verified && (await spendStep(deps, unit, project, row, typed))) return 'totp';
  if (!allowed.includes('recoverycode')) return undefined;
  return (await spendRecoveryCode(deps, unit, project, userId, typed)) ? 'recoverycode' : undefined;
}

async function spendRecoveryCode(deps: Deps, unit: Unit, project: Project, userId: string, typed: string) {
  const letters = readRecoveryCode(typed);
  if (letters === undefined) return false;
  // All codes of a user are created together.
  const [code] = await codesOf(deps, unit, project, userId);
  if (code === undefined) return false;
  const digest = digestOf(deps, project.id, userId, letters, code.createdAt);
  if ((await unit.run(deps.store.spendCode(project.id, userId, digest, unit.now))) !== 1) return false;
  const left = (await codesLeft(deps, unit, project, userId)) ?? 0;
  unit.record('recoveryCodeUsed', { resource: `users/${userId}/recovery-codes`, userId, payload: { userId, left } });
  return true;
}
