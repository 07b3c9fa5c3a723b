import type { Instant } from '#src/contract/shapes.js';
import { raw, type SqlTag } from './template.js';

const prefix = 'backup_hold';
const nameOf = (id: string) => `${prefix}:${id}`;
const isHold = raw('name like ?', [`${prefix}%`]);

/**
 * SQL of the holds of running backups: until the last one ends, no job removes the bytes of deleted files, which a backup may still have to
 * read.
 */
export const backupHold = {
  set: (sql: SqlTag, id: string, until: Instant) => sql`
    insert into installation (name, value) values (${nameOf(id)}, ${until})
    on conflict (name) do update set value = excluded.value`,
  /** Ends the hold of a backup, and removes those of killed ones. */
  clear: (sql: SqlTag, id: string, now: Instant) =>
    sql`delete from installation where name = ${nameOf(id)} or (${isHold} and value <= ${now})`,
  clearAll: (sql: SqlTag) => sql`delete from installation where ${isHold}`,
  /** A row if a backup is running. */
  find: (sql: SqlTag, now: Instant) => sql`select value from installation where ${isHold} and value > ${now}`,
};
