import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { instant, integer, nullable, table, text } from '#src/platform/db/table.js';
import { oneOf } from '#src/platform/db/template.js';
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
  /** Secrets dated in the future are refused: after the clock was set back, their age is unknown. */
  const isOpen = (now: Instant) =>
    sql`used_at is null and expire > ${now} and created_at <= ${instantOf(latestPast(millisecondsOf(now)))}`;
  return {
    /** Inserts a secret in place of the previous one. */
    put: (row: SecretRow) => sql`
      ${oneTimeSecrets.insert(row)} on conflict (project_id, purpose, subject) do update set ${oneTimeSecrets.overwrite}`,
    /** Secrets that a user can still redeem, by id or alias. The user's own first: others with the id as alias must not push them out. */
    open: (projectId: string, purposes: readonly string[], userId: string, now: Instant) => sql`
      select ${oneTimeSecrets.row} from one_time_secrets
      where project_id = ${projectId} and purpose ${oneOf(purposes)} and (user_id = ${userId} or alias = ${userId})
        and ${isOpen(now)}
      order by case when user_id = ${userId} then 0 else 1 end, created_at desc limit 20`,
    /**
     * Uses up one attempt before the digests are compared. Returns the row only if an attempt was left beyond the `kept` ones. Locks the
     * row until the unit ends.
     */
    takeTry: (id: string, kept: number, now: Instant) => sql`
      update one_time_secrets set tries_left = tries_left - 1
      where id = ${id} and ${isOpen(now)} and (tries_left is null or tries_left > ${kept})
      returning ${oneTimeSecrets.row}`,
    use: (id: string, now: Instant) => sql`update one_time_secrets set used_at = ${now} where id = ${id}`,
    remove: (
      projectId: string,
      purposes: readonly string[] | 'every',
      whose: { userId: string } | { recipient: string },
    ) => {
      const isTheirs = 'userId' in whose ? sql`user_id = ${whose.userId}` : sql`recipient = ${whose.recipient}`;
      const isMeant = purposes !== 'every' && sql` and purpose ${oneOf(purposes)}`;
      return sql`delete from one_time_secrets where project_id = ${projectId} and ${isTheirs}${isMeant}`;
    },
    prune: (before: Instant, max: number) => sql`
      delete from one_time_secrets
      where id in (select id from one_time_secrets where expire < ${before} limit ${max})`,
  };
}
