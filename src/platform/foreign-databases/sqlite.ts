import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import type { ForeignRow } from './row.js';

/** A SQLite database of another product, opened for reading. All reads see one snapshot. */
export interface ForeignSqlite {
  /** Runs a query. Bytes are returned as text. Throws Error with the message of SQLite. */
  all(sql: string, ...values: readonly unknown[]): Promise<ForeignRow[]>;
  close(): Promise<void>;
}

/**
 * Opens a database that another process may be writing, and creates no file beside it. Throws Error with the message of SQLite. Without a
 * log file, nothing writes the database, and SQLite needs no lock. With a log but without the file of its locks, the database is a copy:
 * it is read from a copy of its own, because SQLite would create that file.
 */
export async function openForeignSqlite(file: string): Promise<ForeignSqlite> {
  const hasLog = bytesOf(`${file}-wal`) > 0;
  const hasLocks = bytesOf(`${file}-shm`) > 0;
  const copied = hasLog && !hasLocks ? mkdtempSync(join(tmpdir(), 'svc-import-')) : undefined;
  const read = copied === undefined ? file : join(copied, 'data.db');
  if (copied !== undefined) for (const ending of ['', '-wal']) copyFileSync(`${file}${ending}`, `${read}${ending}`);
  const address = hasLocks || hasLog ? pathToFileURL(read).href : `${pathToFileURL(read).href}?immutable=1`;
  const database = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened = new sqlite3.Database(address, sqlite3.OPEN_READONLY | sqlite3.OPEN_URI, (error) =>
      error === null ? resolve(opened) : reject(error),
    );
  });
  const all: ForeignSqlite['all'] = (sql, ...values) =>
    new Promise((resolve, reject) => {
      database.all<ForeignRow>(sql, values, (error, rows) =>
        error === null ? resolve(rows.map(asTexts)) : reject(error),
      );
    });
  const close = async () => {
    await new Promise<void>((resolve) => {
      database.close(() => resolve());
    });
    if (copied !== undefined) rmSync(copied, { recursive: true, force: true });
  };
  try {
    await all('PRAGMA trusted_schema = OFF');
    await all('BEGIN');
    // Begins the snapshot.
    await all('SELECT count(*) FROM sqlite_master');
  } catch (error) {
    await close();
    throw error;
  }
  return { all, close };
}

function asTexts(row: ForeignRow): ForeignRow {
  if (!Object.values(row).some(Buffer.isBuffer)) return row;
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString('utf8') : value]),
  );
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
