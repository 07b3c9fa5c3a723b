import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isAbsent } from '../files.js';
import { DatabaseError } from './database-error.js';

/** What SQLite itself calls it; it does not look while it keeps a write-ahead log. */
const fileMoved = 'SQLITE_READONLY_DBMOVED';
/** How SQLite names a database without a file. */
const inMemory = ':memory:';
/** What SQLite keeps beside a database: the write-ahead log, its index, and the journal of what is not committed. */
const besides = ['-wal', '-shm', '-journal'];
/** Most links that a path leads through, as in Linux. */
const mostLinks = 40;

/**
 * The log that lies where the file of its database is gone; undefined where the file is there or nothing is. The log holds the newest writes, and
 * SQLite deletes it when it makes a file anew or opens an empty one.
 */
export function logWithoutFile(file: string): string | undefined {
  if (file === inMemory) return undefined;
  const target = targetOf(file);
  // Looked for before the file: whoever makes a new database makes its file first.
  const [log] = besides.map((suffix) => `${target}${suffix}`).filter((path) => !isAbsent(path));
  if (log === undefined) return undefined;
  if (isAbsent(target)) return log;
  return log.endsWith('-wal') && sizeOf(log) > 0 && sizeOf(target) === 0 ? log : undefined;
}

/** Whether opening a database makes it. */
export function isNewDatabase(file: string): boolean {
  return file === inMemory || isAbsent(file);
}

/** What links lead to, also where nothing is there: SQLite keeps the log beside that. */
function targetOf(file: string): string {
  let path = resolve(file);
  try {
    for (let links = 0; links < mostLinks; links++) path = resolve(dirname(path), readlinkSync(path));
  } catch {
    // No link any more.
  }
  return path;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Watches that the open database is still the one at its path. SQLite goes on writing into a file that was deleted, moved or replaced, and into a
 * log that was: whoever opens the path later sees nothing of it.
 */
export class SqliteFiles {
  readonly #paths: readonly string[];
  /** Which file each path led to when the database was written to first. */
  readonly #first = new Map<string, string>();

  /** For a file that was opened just now. A database in memory has none. */
  constructor(file: string) {
    this.#paths = file === inMemory ? [] : [file, `${realpathSync(file)}-wal`];
    for (const path of this.#paths.slice(0, 1)) this.#first.set(path, identityOf(path));
  }

  /** Throws DatabaseError where a path leads elsewhere by now. Inside a transaction, where the log exists. */
  demandUnmoved(): void {
    for (const path of this.#paths) {
      const identity = identityOf(path);
      const first = this.#first.get(path);
      if (first === undefined) this.#first.set(path, identity);
      else if (first !== identity) throw new DatabaseError('notWritable', fileMoved);
    }
  }
}

function identityOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? 'none' : `${found.dev} ${found.ino}`;
}
