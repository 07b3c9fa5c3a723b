import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { integer, nullable, table, text } from '#src/platform/db/table.js';

/** What a one-time secret is good for; one that was made for one purpose serves no other. */
export type Purpose =
  | 'magic-link'
  | 'email-code'
  | 'phone-code'
  | 'server-token'
  | 'email-verification'
  | 'phone-verification'
  | 'recovery'
  | 'email-challenge'
  | 'phone-challenge';

/** One-time secrets; of each only a keyed digest. */
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
  usedAt: nullable(text),
  expire: text,
  createdAt: text,
});

/** A row of the table. */
export type SecretRow = ReturnType<typeof oneTimeSecrets.decode>;

/** SQL over one-time secrets. */
export function createSecretStore(sql: Sql) {
  const { knex } = sql;
  const { name } = oneTimeSecrets;
  return {
    /** Puts a secret in the place of the one before it. */
    put: (row: SecretRow): Query => {
      const encoded = oneTimeSecrets.encode(row);
      return sql.compile(knex(name).insert(encoded).onConflict(['project_id', 'purpose', 'subject']).merge());
    },
    /** What a user, under either id, may still redeem. */
    open: (projectId: string, purposes: readonly Purpose[], userId: string, now: Instant): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId })
          .whereIn('purpose', purposes)
          .where((either) => either.where({ user_id: userId }).orWhere({ alias: userId }))
          .whereNull('used_at')
          .where('expire', '>', now)
          .orderBy('created_at', 'desc')
          .limit(20)
          .select(oneTimeSecrets.select(sql)),
      ),
    /** Takes one try, before anything is compared; returns the row exactly when there was one left. Others wait for the row until the unit ends. */
    takeTry: (id: string, now: Instant): Query =>
      sql.compile(
        knex(name)
          .where({ id })
          .whereNull('used_at')
          .where('expire', '>', now)
          .where((either) => either.whereNull('tries_left').orWhere('tries_left', '>', 0))
          .update({ tries_left: knex.raw('tries_left - 1') })
          .returning(oneTimeSecrets.select(sql)),
      ),
    use: (id: string, now: Instant): Query => sql.compile(knex(name).where({ id }).update({ used_at: now })),
    remove: (
      projectId: string,
      purposes: readonly Purpose[] | 'every',
      whose: { userId: string } | { recipient: string },
    ): Query => {
      const theirs = { project_id: projectId, ...('userId' in whose ? { user_id: whose.userId } : whose) };
      const all = knex(name).where(theirs);
      return sql.compile((purposes === 'every' ? all : all.whereIn('purpose', purposes)).delete());
    },
    prune: (before: Instant, most: number): Query =>
      sql.compile(
        knex(name)
          .whereIn('id', knex(name).where('expire', '<', before).limit(most).select('id'))
          .delete(),
      ),
  };
}
