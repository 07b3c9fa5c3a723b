import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isAbsent } from '../runtime/files.js';
import { DatabaseError } from './database-error.js';

/** SQLite's own code for a moved file; SQLite does not check this in WAL mode. */
const fileMoved = 'SQLITE_READONLY_DBMOVED';
/** SQLite's name for a database without a file. */
const inMemory = ':memory:';
/** Suffixes of the files beside a database: the write-ahead log, its index, and the rollback journal. */
const besides = ['-wal', '-shm', '-journal'];
/** Most symbolic links in a path, as in Linux. */
const mostLinks = 40;

/**
 * The path of a log without its database file; undefined if the file exists or there is no log. The log contains the newest writes, and
 * SQLite deletes it when it creates the file again or opens an empty one.
 */
export function logWithoutFile(file: string): string | undefined {
  if (file === inMemory) return undefined;
  const target = targetOf(file);
  // Checked before the file, because a new database gets its file first.
  const [log] = besides.map((suffix) => `${target}${suffix}`).filter((path) => !isAbsent(path));
  if (log === undefined) return undefined;
  if (isAbsent(target)) return log;
  return log.endsWith('-wal') && sizeOf(log) > 0 && sizeOf(target) === 0 ? log : undefined;
}

/** True if opening the database creates it. */
export function isNewDatabase(file: string): boolean {
  return file === inMemory || isAbsent(file);
}

/** Resolves symbolic links, even if the target is missing: SQLite keeps the log beside the target. */
function targetOf(file: string): string {
  let path = resolve(file);
  try {
    for (let links = 0; links < mostLinks; links++) path = resolve(dirname(path), readlinkSync(path));
  } catch {
    // Not a link.
  }
  return path;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Checks that the open database is still the one at its path. SQLite continues to write to a file or log that was deleted, moved or
 * replaced. Processes that open the path later do not see those writes.
 */
export class SqliteFiles {
  readonly #paths: readonly string[];
  /** Identity of the file at each path at the first write. */
  readonly #first = new Map<string, string>();

  /** `file` must have been opened just before. A database in memory has no file. */
  constructor(file: string) {
    this.#paths = file === inMemory ? [] : [file, `${realpathSync(file)}-wal`];
    for (const path of this.#paths.slice(0, 1)) this.#first.set(path, identityOf(path));
  }

  /** Throws DatabaseError if a path now leads to another file. Call it inside a transaction, when the log exists. */
  requireUnmoved(): void {
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
