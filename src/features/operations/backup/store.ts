import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
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
  const { knex } = sql;
  const all = () => knex(backups.name).select(backups.select(sql));
  return {
    list: (): Query => sql.compile(all()),
    last: (): Query => sql.compile(all().where('is_own', 1).orderBy('created_at', 'desc').limit(1)),
    /** Adds a backup; another one of the same name is gone. */
    add: (row: BackupRow): Query =>
      sql.compile(knex(backups.name).insert(backups.encode(row)).onConflict(['file']).merge()),
    /** Stores that an archive was verified. One with another size than that of this installation was not made by it. */
    verified: (row: BackupRow & { readonly verifiedAt: Instant }): Query =>
      sql.compile(
        knex(backups.name)
          .insert(backups.encode({ ...row, isOwn: false }))
          .onConflict(['file'])
          .merge({
            verified_at: row.verifiedAt,
            created_at: row.createdAt,
            bytes: row.bytes,
            is_own: knex.raw('case when backups.bytes = excluded.bytes then backups.is_own else 0 end'),
          }),
      ),
    remove: (file: string): Query => sql.compile(knex(backups.name).where({ file }).delete()),
    /** After a restore the archives may belong to another installation. */
    disown: (): Query => sql.compile(knex(backups.name).update({ is_own: 0 })),
  };
}
