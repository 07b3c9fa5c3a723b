import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from './query.js';

const prefix = 'backup_hold';
const nameOf = (id: string) => `${prefix}:${id}`;

/**
 * SQL of the holds of running backups: until the last one ends, no job removes the bytes of deleted files, which a backup may still have to
 * read.
 */
export const backupHold = {
  set: (sql: Pick<Sql, 'text'>, id: string, until: Instant): Query =>
    sql.text(
      'insert into installation (name, value) values (?, ?) on conflict (name) do update set value = excluded.value',
      [nameOf(id), until],
    ),
  /** Ends the hold of a backup, and removes those of killed ones. */
  clear: (sql: Pick<Sql, 'text'>, id: string, now: Instant): Query =>
    sql.text('delete from installation where name = ? or (name like ? and value <= ?)', [
      nameOf(id),
      `${prefix}%`,
      now,
    ]),
  clearAll: (sql: Pick<Sql, 'text'>): Query => sql.text('delete from installation where name like ?', [`${prefix}%`]),
  /** A row if a backup is running. */
  find: (sql: Pick<Sql, 'text'>, now: Instant): Query =>
    sql.text('select value from installation where name like ? and value > ?', [`${prefix}%`, now]),
};
