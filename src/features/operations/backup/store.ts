import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { bigint, bool, instant, nullable, table, text } from '#src/platform/db/table.js';

/** Backups that were made or verified by this installation. */
export const backups = table('backups', {
  /** Path or URL of the archive. */
  file: text,
  createdAt: instant,
  bytes: bigint,
  verifiedAt: nullable(instant),
  /** True if this installation has made it, and its database was not restored since. */
  isOwn: bool,
});

/** The row of a backup. */
export type BackupRow = ReturnType<typeof backups.decode>;

/** SQL over the backups. */
export type BackupStore = ReturnType<typeof createBackupStore>;

/** Creates the SQL over the backups. */
export function createBackupStore(sql: Sql) {
  return {
    list: () => sql`select ${backups.row} from backups`,
    last: () => sql`select ${backups.row} from backups where is_own = 1 order by created_at desc limit 1`,
    /** Adds a backup; another one of the same name is gone. */
    add: (row: BackupRow) => sql`${backups.insert(row)} on conflict (file) do update set ${backups.overwrite}`,
    /** Stores that an archive was verified. One with another size than that of this installation was not made by it. */
    verified: ({ isOwn: _, ...row }: BackupRow & { readonly verifiedAt: Instant }) => sql`
      ${backups.insert({ ...row, isOwn: false })} on conflict (file) do update set ${backups.set(row)},
        is_own = case when backups.bytes = excluded.bytes then backups.is_own else 0 end`,
    remove: (file: string) => sql`delete from backups where file = ${file}`,
    /** After a restore the archives may belong to another installation. */
    disown: () => sql`update backups set is_own = 0`,
  };
}
