import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, integer, nullable, table, text } from '#src/platform/db/table.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';

/** One-time secrets, each stored as a keyed digest only. */
export const oneTimeSecrets = table('one_time_secrets', {
  projectId: text,
  purpose: text,
  subject: text,
  id: text,
  userId: nullable(text),
  alias: text,
  recipient: text,
  digest: text,
  length: integer,
  triesLeft: nullable(integer),
  usedAt: nullable(instant),
  expire: instant,
  createdAt: instant,
});

/** A row of the table. */
export type SecretRow = ReturnType<typeof oneTimeSecrets.decode>;

/** SQL over one-time secrets. */
export function createSecretStore(sql: Sql) {
  const { knex } = sql;
  const { name } = oneTimeSecrets;
  /** Secrets dated in the future are refused: after the clock was set back, their age is unknown. */
  const latest = (now: Instant): Instant => instantOf(latestPast(millisecondsOf(now)));
  return {
    /** Inserts a secret in place of the previous one. */
    put: (row: SecretRow): Query => {
      const encoded = oneTimeSecrets.encode(row);
      return sql.compile(knex(name).insert(encoded).onConflict(['project_id', 'purpose', 'subject']).merge());
    },
    /** Secrets that a user can still redeem, by id or alias. */
    open: (projectId: string, purposes: readonly string[], userId: string, now: Instant): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId })
          .whereIn('purpose', purposes)
          .where((either) => either.where({ user_id: userId }).orWhere({ alias: userId }))
          .whereNull('used_at')
          .where('expire', '>', now)
          .where('created_at', '<=', latest(now))
          // The user's own first: requests with the user's id as alias must not push them out.
          .orderByRaw('case when user_id = ? then 0 else 1 end, created_at desc', [userId])
          .limit(20)
          .select(oneTimeSecrets.select(sql)),
      ),
    /**
     * Uses up one attempt before the digests are compared. Returns the row only if an attempt was left beyond the `kept` ones. Locks the
     * row until the unit ends.
     */
    takeTry: (id: string, kept: number, now: Instant): Query =>
      sql.compile(
        knex(name)
          .where({ id })
          .whereNull('used_at')
          .where('expire', '>', now)
          .where('created_at', '<=', latest(now))
          .where((either) => either.whereNull('tries_left').orWhere('tries_left', '>', kept))
          .update({ tries_left: knex.raw('tries_left - 1') })
          .returning(oneTimeSecrets.select(sql)),
      ),
    use: (id: string, now: Instant): Query => sql.compile(knex(name).where({ id }).update({ used_at: now })),
    remove: (
      projectId: string,
      purposes: readonly string[] | 'every',
      whose: { userId: string } | { recipient: string },
    ): Query => {
      const theirs = { project_id: projectId, ...('userId' in whose ? { user_id: whose.userId } : whose) };
      const all = knex(name).where(theirs);
      return sql.compile((purposes === 'every' ? all : all.whereIn('purpose', purposes)).delete());
    },
    prune: (before: Instant, max: number): Query =>
      sql.compile(
        knex(name)
          .whereIn('id', knex(name).where('expire', '<', before).limit(max).select('id'))
          .delete(),
      ),
  };
}
