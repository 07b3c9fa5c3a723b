import type { Instant } from '#src/contract/shapes.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
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
  const { knex } = sql;
  const totp = (projectId: string, userId: string) =>
    knex(authenticators.name).where({ project_id: projectId, user_id: userId, type: 'totp' });
  const codes = (projectId: string, userId: string) =>
    knex(recoveryCodes.name).where({ project_id: projectId, user_id: userId });
  return {
    authenticator: sql.prepare<{ projectId: string; userId: string }>((k, p) =>
      k(authenticators.name)
        .where({ project_id: p.projectId, user_id: p.userId, type: 'totp' })
        .select(authenticators.select(sql)),
    ),
    /** Inserts an authenticator or replaces one that is not verified. Does nothing if the user has a verified one. */
    putAuthenticator: (row: AuthenticatorRow): Query =>
      sql.compile(
        knex(authenticators.name)
          .insert(authenticators.encode(row))
          .onConflict(['project_id', 'user_id', 'type'])
          .merge()
          .where('authenticators.verified', 0),
      ),
    verifyAuthenticator: (projectId: string, userId: string): Query =>
      sql.compile(totp(projectId, userId).update({ verified: 1 })),
    /**
     * Marks a step and all before it as used. Does nothing if `lastStep` has changed since it was read, because a parallel attempt was
     * faster.
     */
    spendStep: ({ projectId, userId, lastStep }: AuthenticatorRow, step: number): Query =>
      sql.compile(totp(projectId, userId).andWhere('last_step', lastStep).update({ last_step: step })),
    removeAuthenticator: (projectId: string, userId: string): Query => sql.compile(totp(projectId, userId).delete()),
    addCodes: (rows: readonly CodeRow[]): Query =>
      sql.compile(knex(recoveryCodes.name).insert(rows.map((row) => recoveryCodes.encode(row)))),
    /** Marks a recovery code as used. Does nothing if it does not exist or was used before. */
    spendCode: (projectId: string, userId: string, digest: string, now: Instant): Query =>
      sql.compile(codes(projectId, userId).andWhere({ digest }).whereNull('used_at').update({ used_at: now })),
    codes: (projectId: string, userId: string): Query =>
      sql.compile(codes(projectId, userId).select(recoveryCodes.select(sql))),
    removeCodes: (projectId: string, userId: string): Query => sql.compile(codes(projectId, userId).delete()),
  };
}

/** Queries over second factors. */
export type FactorStore = ReturnType<typeof createFactorStore>;
