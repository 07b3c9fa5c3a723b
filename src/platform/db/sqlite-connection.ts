import sqlite3 from 'sqlite3';
import type { Waiter } from '#src/contract/reading.js';
import { Lru } from '../lru.js';
import { DatabaseError, fromSqlite } from './database-error.js';
import type { Connection } from './driver.js';
import { gone } from './lane.js';
import type { Query } from './query.js';
import type { Row } from './table.js';

const busyTimeoutMs = 5000;
/** No value is longer: a text beyond half a gibibyte is an exception in V8, thrown where nobody can catch it. */
const largestValueBytes = 256 * 1024 * 1024;
/** What a connection keeps prepared. What is not kept is prepared for one call. */
const prepared = { bytes: 16_777_216, entries: 500, largest: 1_048_576 } as const;
/** What a prepared statement takes, as measured: something for itself, and for each character of its text. */
const bytesOf = (sql: string) => 4096 + 16 * sql.length;

/** How a connection is opened. */
interface Opening {
  /** No text and no value on it is longer than so many bytes. */
  readonly largestBytes?: number | undefined;
  /** Whether a file that is not there is made. It may have been moved away, and then the new one would take its log. */
  readonly creates?: boolean;
}

/** The limits of a use of a connection. */
interface Use {
  /** For how long a statement may run. */
  readonly maxMs: number;
  /** Statements end when nobody waits any more. */
  readonly waiter?: Waiter | undefined;
}

/** A connection of our own: each SQL text is prepared once. `Statement.get` is never used, as it keeps its snapshot open. */
export class SqliteConnection implements Connection {
  readonly #database: sqlite3.Database;
  // sqlite3 finalises a statement that runs only after its call.
  readonly #statements = new Lru<sqlite3.Statement>(prepared, (statement) => statement.finalize());
  /** When each of the statements that run has to have ended. */
  readonly #running = new Map<number, number>();
  #started = 0;
  #settled: (() => void)[] = [];
  #ending = false;
  #use: Use = { maxMs: Number.POSITIVE_INFINITY };

  private constructor(database: sqlite3.Database) {
    this.#database = database;
  }

  /** Opens a connection. Throws DatabaseError. */
  static async open(
    file: string,
    { largestBytes = largestValueBytes, creates = false }: Opening = {},
  ): Promise<SqliteConnection> {
    const mode = sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX | (creates ? sqlite3.OPEN_CREATE : 0);
    const database = await new Promise<sqlite3.Database>((resolve, reject) => {
      const opened = new sqlite3.Database(file, mode, (error) =>
        error === null ? resolve(opened) : reject(fromSqlite(error)),
      );
    });
    database.configure('limit', sqlite3.LIMIT_LENGTH, largestBytes);
    const connection = new SqliteConnection(database);
    for (const pragma of [
      `busy_timeout = ${busyTimeoutMs}`,
      'journal_mode = WAL',
      'synchronous = FULL',
      'foreign_keys = ON',
      'journal_size_limit = 67108864',
      'wal_autocheckpoint = 4000',
      'cache_size = -16384',
      'trusted_schema = OFF',
      // What undoes a single statement stays in memory; as a file it would be made anew for each large one.
      'temp_store = MEMORY',
    ]) {
      await connection.all({ sql: `PRAGMA ${pragma}`, values: [] });
    }
    return connection;
  }

  /** Runs the body, in which statements have a time limit. */
  async within<T>(use: Use, body: () => Promise<T>): Promise<T> {
    const before = this.#use;
    this.#use = use;
    try {
      return await this.settling(body);
    } finally {
      this.#use = before;
    }
  }

  /** Ends only when every statement of the body has: an interrupt that is meant for one of them must not hit what comes next. */
  async settling<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } finally {
      if (this.#running.size > 0)
        await new Promise<void>((resolve) => {
          this.#settled.push(resolve);
        });
    }
  }

  all(query: Query): Promise<Row[]> {
    return this.#limited((done, fail) =>
      this.#call(query, fail, (statement) =>
        statement.all<Row>(query.values, (error: Error | null, rows: Row[]) =>
          error === null ? done(rows) : fail(error),
        ),
      ),
    );
  }

  async together(queries: readonly Query[]): Promise<Row[][]> {
    const results: Row[][] = [];
    for (const query of queries) results.push(await this.all(query));
    return results;
  }

  run(query: Query): Promise<number> {
    return this.#limited((done, fail) =>
      this.#call(query, fail, (statement) =>
        statement.run(query.values, function (error: Error | null) {
          if (error === null) done(this.changes);
          else fail(error);
        }),
      ),
    );
  }

  /** Begins, commits or rolls back, without a time limit. */
  command(sql: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(fromSqlite(error));
      this.#call({ sql, values: [] }, fail, (statement) =>
        statement.run([], (error: Error | null) => (error === null ? resolve() : fail(error))),
      );
    });
  }

  /**
   * Ends what runs where its time is over or nobody waits for it. SQLite forgets an interrupt that comes before a statement has begun, so
   * this is asked again and again; one that comes after it is forgotten as well, as nothing else runs on the connection until its use ends.
   */
  interruptOverdue(): void {
    const now = performance.now();
    if (this.#running.size === 0) return;
    if (this.#ending || this.#use.waiter?.isGone || [...this.#running.values()].some((until) => until < now))
      this.#database.interrupt();
  }

  /** Ends what runs; resolved when nothing does. sqlite3 would wait for it, and takes no interrupt while it closes. */
  async end(): Promise<void> {
    this.#ending = true;
    this.interruptOverdue();
    await this.settling(async () => {});
  }

  close(): Promise<void> {
    this.#statements.drain();
    return new Promise((resolve, reject) => {
      this.#database.close((error) => (error === null ? resolve() : reject(fromSqlite(error))));
    });
  }

  #limited<T>(start: (done: (value: T) => void, fail: (error: Error) => void) => void): Promise<T> {
    if (this.#ending) return Promise.reject(new DatabaseError('unavailable', 'closed'));
    if (this.#use.waiter?.isGone) return Promise.reject(gone());
    const id = this.#started++;
    this.#running.set(id, performance.now() + this.#use.maxMs);
    const ended = () => {
      this.#running.delete(id);
      if (this.#running.size === 0) {
        for (const settled of this.#settled.splice(0)) settled();
      }
    };
    return new Promise((resolve, reject) => {
      const done = (value: T) => {
        ended();
        resolve(value);
      };
      const fail = (error: Error) => {
        ended();
        reject(error instanceof DatabaseError ? error : fromSqlite(error));
      };
      start(done, fail);
    });
  }

  #call({ sql }: Query, fail: (error: Error) => void, then: (statement: sqlite3.Statement) => void): void {
    const cached = this.#statements.get(sql);
    if (cached !== undefined) {
      then(cached);
      return;
    }
    const statement = this.#database.prepare(sql, (error: Error | null) => {
      if (error === null) return;
      this.#statements.delete(sql);
      fail(error);
    });
    const isKept = this.#statements.set(sql, statement, bytesOf(sql));
    then(statement);
    if (!isKept) statement.finalize();
  }
}
