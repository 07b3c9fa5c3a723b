import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';

/** A row of a database of another product. */
export type ForeignRow = Readonly<Record<string, unknown>>;

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
  const database = await openSqliteFile(address, sqlite3.OPEN_READONLY | sqlite3.OPEN_URI);
  const all: ForeignSqlite['all'] = async (sql, ...values) => (await database.all(sql, values)).map(asTexts);
  const close = async () => {
    await database.close();
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

/** Opens a file in a mode of SQLite. Throws Error with the message of SQLite. */
export async function openSqliteFile(file: string, mode: number) {
  const database = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened = new sqlite3.Database(file, mode, (error) => (error === null ? resolve(opened) : reject(error)));
  });
  return {
    all: (sql: string, values: readonly unknown[] = []) =>
      new Promise<ForeignRow[]>((resolve, reject) => {
        database.all<ForeignRow>(sql, values, (error, rows) => (error === null ? resolve(rows) : reject(error)));
      }),
    close: () => new Promise<void>((resolve) => database.close(() => resolve())),
  };
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
