import { realpathSync, statSync } from 'node:fs';
import { DatabaseError } from './database-error.js';

/** What SQLite itself calls it; it does not look while it keeps a write-ahead log. */
const fileMoved = 'SQLITE_READONLY_DBMOVED';
/** How SQLite names a database without a file. */
const inMemory = ':memory:';

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
