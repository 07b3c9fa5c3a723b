import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from './query.js';

const name = 'backup_hold';

/** SQL of the hold of a running backup: until its end, no job removes the bytes of deleted files, which the backup may still have to read. */
export const backupHold = {
  set: (sql: Pick<Sql, 'text'>, until: Instant): Query =>
    sql.text(
      'insert into installation (name, value) values (?, ?) on conflict (name) do update set value = excluded.value',
      [name, until],
    ),
  clear: (sql: Pick<Sql, 'text'>): Query => sql.text('delete from installation where name = ?', [name]),
  /** A row if a backup is running. */
  find: (sql: Pick<Sql, 'text'>, now: Instant): Query =>
    sql.text('select value from installation where name = ? and value > ?', [name, now]),
};
