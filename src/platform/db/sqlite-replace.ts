import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isAbsent } from '../runtime/files.js';
import { DatabaseError } from './database-error.js';
import { SqliteConnection } from './sqlite-connection.js';

/**
 * Moves the log of an SQLite database into its file. Throws DatabaseError `busy` if another process uses the database: the last connection to
 * close removes the log.
 */
async function mergeLog(file: string): Promise<void> {
  await (await SqliteConnection.open(file)).close();
  if (!isAbsent(`${file}-wal`)) throw new DatabaseError('busy', 'SQLITE_BUSY');
}

/** Removes an SQLite database. Throws DatabaseError `busy` if another process uses it. */
export async function removeSqlite(file: string): Promise<void> {
  await mergeLog(file);
  await rm(file);
}

/**
 * Replaces an SQLite database by another file, in one step: after a crash either is there whole. Throws DatabaseError `busy` if a process
 * still uses the database.
 */
export async function replaceSqlite(file: string, by: string): Promise<void> {
  // Another database must never meet the log of this one.
  if (!isAbsent(file)) await mergeLog(file);
  await rename(by, file);
  const directory = await open(dirname(file));
  await directory.sync();
  await directory.close();
}
