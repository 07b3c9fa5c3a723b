import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isAbsent } from '../runtime/files.js';
import { DatabaseError } from './database-error.js';
import { SqliteConnection } from './sqlite-connection.js';

/**
 * Replaces an SQLite database by another file, in one step: after a crash either is there whole. Throws DatabaseError `busy` if a process
 * still uses the database.
 */
export async function replaceSqlite(file: string, by: string): Promise<void> {
  if (!isAbsent(file)) {
    // The last connection to close moves the log into the file and removes it. Another database must never meet this log.
    await (await SqliteConnection.open(file)).close();
    if (!isAbsent(`${file}-wal`)) throw new DatabaseError('busy', 'SQLITE_BUSY');
  }
  await rename(by, file);
  const directory = await open(dirname(file));
  await directory.sync();
  await directory.close();
}
