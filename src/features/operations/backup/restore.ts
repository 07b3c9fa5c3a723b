import { backupHold } from '#src/platform/db/backup-hold.js';
import { dropEverything } from '#src/platform/db/table-removal.js';
import { raw } from '#src/platform/db/template.js';
import type { Runtime } from '#src/platform/index.js';
import { type LoadedBackup, loadBackup } from './load.js';
import { createBackupStore } from './store.js';

/** Options of a restore. */
interface RestoreOptions {
  /** True if everything in the database is removed first. */
  readonly replaces: boolean;
  /** True if sessions, one-time secrets and signing keys of the backup are left out, so that none of them is valid again. */
  readonly endsSessions: boolean;
  /** Stores the bytes of a file. */
  file(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
}

/** A step of the backup's schema is unknown to this version. */
export class UnknownSchemaError extends Error {
  readonly steps: readonly string[];
  constructor(steps: readonly string[]) {
    super('a later version of svc made this backup');
    this.name = 'UnknownSchemaError';
    this.steps = steps;
  }
}

/** Tables of credentials and signing keys. A restore empties them, because revoked ones would become valid again. */
const credentials = [
  'sessions',
  'one_time_secrets',
  'challenges',
  'webauthn_challenges',
  'login_transactions',
  'signing_keys',
];

/**
 * Restores a backup in one transaction: the database afterwards holds all of it, or is as before. The schema is migrated to this version.
 * Throws DamagedArchiveError, UnknownFormatError, UnknownSchemaError, DatabaseError and FileStoreError.
 */
export async function restoreBackup(
  { driver, migrator, sql }: Pick<Runtime, 'driver' | 'migrator' | 'sql'>,
  bytes: AsyncIterable<Uint8Array>,
  { replaces, endsSessions, file }: RestoreOptions,
): Promise<LoadedBackup> {
  const known = new Set(migrator.migrations.map(({ name }) => name));
  return driver.exclusive(async (connection) => {
    if (replaces) await dropEverything(connection, driver.dialect);
    const loaded = await loadBackup(bytes, {
      sql,
      connection,
      migrate: async (steps) => {
        const unknown = steps.filter((name) => !known.has(name));
        if (unknown.length > 0) throw new UnknownSchemaError(unknown);
        await migrator.migrate(connection, steps);
      },
      file,
    });
    await migrator.migrate(connection);
    await connection.run(backupHold.clearAll(sql));
    await connection.run(createBackupStore(sql).disown());
    // The first two hold leases and rows of the processes that ran when the backup was made.
    for (const table of ['cron_jobs', 'servers', ...(endsSessions ? credentials : [])])
      await connection.run(sql`delete from ${raw(table)}`);
    return loaded;
  });
}
