import type { Instant } from '#src/contract/shapes.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Sql } from '#src/platform/db/query.js';
import { bool, epoch, instant, nullable, table, text } from '#src/platform/db/table.js';

/** Authenticator apps of users; the seed is sealed. */
export const authenticators = table('authenticators', {
  projectId: text,
  userId: text,
  type: text,
  sealedSeed: text,
  verified: bool,
  lastStep: epoch,
  createdAt: instant,
});

/** The sealed column of seeds; a user has one authenticator. */
export const sealedSeeds: SealedColumn = {
  table: authenticators.name,
  column: 'sealed_seed',
  key: 'user_id',
  order: ['project_id', 'user_id', 'type'],
  before: () => 'authenticators|sealed_seed',
};

/** Recovery codes, each stored as a keyed digest only. */
export const recoveryCodes = table('recovery_codes', {
  projectId: text,
  userId: text,
  digest: text,
  usedAt: nullable(instant),
  createdAt: instant,
});

/** An authenticator as stored. */
export type AuthenticatorRow = ReturnType<typeof authenticators.decode>;

type CodeRow = ReturnType<typeof recoveryCodes.decode>;

/** SQL over the second factors of users. */
export function createFactorStore(sql: Sql) {
  const totpOf = (projectId: string, userId: string) =>
    sql`project_id = ${projectId} and user_id = ${userId} and type = 'totp'`;
  return {
    authenticator: ({ projectId, userId }: { projectId: string; userId: string }) =>
      sql`select ${authenticators.row} from authenticators where ${totpOf(projectId, userId)}`,
    /** Inserts an authenticator or replaces one that is not verified. Does nothing if the user has a verified one. */
    putAuthenticator: (row: AuthenticatorRow) => sql`
      ${authenticators.insert(row)}
      on conflict (project_id, user_id, type) do update set ${authenticators.overwrite} where authenticators.verified = 0`,
    verifyAuthenticator: (projectId: string, userId: string) =>
      sql`update authenticators set verified = 1 where ${totpOf(projectId, userId)}`,
    /**
     * Marks a step and all before it as used. Does nothing if `lastStep` has changed since it was read, because a parallel attempt was
     * faster.
     */
    spendStep: ({ projectId, userId, lastStep }: AuthenticatorRow, step: number) =>
      sql`update authenticators set last_step = ${step} where ${totpOf(projectId, userId)} and last_step = ${lastStep}`,
    removeAuthenticator: (projectId: string, userId: string) =>
      sql`delete from authenticators where ${totpOf(projectId, userId)}`,
    addCodes: (rows: readonly CodeRow[]) => sql`${recoveryCodes.insert(rows)}`,
    /** Marks a recovery code as used. Does nothing if it does not exist or was used before. */
    spendCode: (projectId: string, userId: string, digest: string, now: Instant) => sql`
      update recovery_codes set used_at = ${now}
      where project_id = ${projectId} and user_id = ${userId} and digest = ${digest} and used_at is null`,
    codes: (projectId: string, userId: string) =>
      sql`select ${recoveryCodes.row} from recovery_codes where project_id = ${projectId} and user_id = ${userId}`,
    removeCodes: (projectId: string, userId: string) =>
      sql`delete from recovery_codes where project_id = ${projectId} and user_id = ${userId}`,
  };
}

/** Queries over second factors. */
export type FactorStore = ReturnType<typeof createFactorStore>;
