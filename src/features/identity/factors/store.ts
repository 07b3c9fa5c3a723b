import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, epoch, instant, nullable, table, text } from '#src/platform/db/table.js';
import type { SealedColumn } from '#src/platform/sealing.js';

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

/** Where seeds are sealed; a user has one authenticator. */
export const sealedSeeds: SealedColumn = {
  table: authenticators.name,
  column: 'sealed_seed',
  key: 'user_id',
  order: ['project_id', 'user_id', 'type'],
  before: () => 'authenticators|sealed_seed',
};

/** Recovery codes; of each only a keyed digest. */
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
    /** Puts an authenticator in the place of one that is not verified; changes nothing where the user has a verified one. */
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
    /** Spends a step and all before it; changes nothing where somebody else was quicker, so that another step was the last. */
    spendStep: ({ projectId, userId, lastStep }: AuthenticatorRow, step: number): Query =>
      sql.compile(totp(projectId, userId).andWhere('last_step', lastStep).update({ last_step: step })),
    removeAuthenticator: (projectId: string, userId: string): Query => sql.compile(totp(projectId, userId).delete()),
    addCodes: (rows: readonly CodeRow[]): Query =>
      sql.compile(knex(recoveryCodes.name).insert(rows.map((row) => recoveryCodes.encode(row)))),
    /** Spends a recovery code; changes nothing where there is no such code, or it was used. */
    spendCode: (projectId: string, userId: string, digest: string, now: Instant): Query =>
      sql.compile(codes(projectId, userId).andWhere({ digest }).whereNull('used_at').update({ used_at: now })),
    codes: (projectId: string, userId: string): Query =>
      sql.compile(codes(projectId, userId).select(recoveryCodes.select(sql))),
    removeCodes: (projectId: string, userId: string): Query => sql.compile(codes(projectId, userId).delete()),
  };
}

/** The statements over second factors. */
export type FactorStore = ReturnType<typeof createFactorStore>;
