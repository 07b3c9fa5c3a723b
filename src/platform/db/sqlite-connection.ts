import sqlite3 from 'sqlite3';
import type { Waiter } from '#src/contract/reading.js';
import { Lru } from '../cache/lru.js';
import { memoryShare } from '../runtime/memory.js';
import { DatabaseError, fromSqlite } from './database-error.js';
import type { Connection } from './driver.js';
import { gone } from './list-slots.js';
import { type Query, statement } from './query.js';
import type { Row } from './table.js';

const busyTimeoutMs = 5000;
/** Most attempts to prepare a statement after schema changes. SQLite retries by itself, but not within its fulltext tables. */
const schemaAttempts = 50;
/** Upper bound of a value. V8 throws an exception that cannot be caught for a text beyond half a gibibyte. */
const largestValueBytes = 256 * 1024 * 1024;
/** Bounds of the cache of prepared statements. Others are prepared for one call. */
const prepared = { bytes: 16_777_216, entries: 500, largest: 1_048_576 } as const;
/** Measured size of a prepared statement: a fixed part and a part for each character of its text. */
const bytesOf = (sql: string) => 4096 + 16 * sql.length;

/** Options of opening a connection. */
interface Opening {
  /** Most bytes of a text or value on this connection. */
  readonly largestBytes?: number | undefined;
  /** True if a missing file is created. It may have been moved away, and then the new one would adopt its log. */
  readonly creates?: boolean;
}

/** The limits of one use of a connection. */
interface Use {
  /** Longest run time of a statement, in milliseconds. */
  readonly maxMs: number;
  /** Statements are interrupted when the waiter is gone. */
  readonly waiter?: Waiter | undefined;
}

/** Receives the result of a statement, or its error. */
type Done<T> = (error: Error | null, value: T) => void;

/** A connection that prepares each SQL text once. `Statement.get` is never used, because it keeps its snapshot open. */
export class SqliteConnection implements Connection {
  readonly #database: sqlite3.Database;
  // sqlite3 finalises a running statement only after its call.
  readonly #statements = new Lru<sqlite3.Statement>(prepared, (statement) => statement.finalize());
  /** Deadline of each running statement. */
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
      `cache_size = -${Math.ceil(16_384 * memoryShare)}`,
      'trusted_schema = OFF',
      // Keeps the statement journal in memory; as a file it would be created again for each large statement.
      'temp_store = MEMORY',
    ]) {
      await connection.all(statement(`PRAGMA ${pragma}`));
    }
    return connection;
  }

  /** Runs the body with a time limit for its statements. */
  async within<T>(use: Use, body: () => Promise<T>): Promise<T> {
    const before = this.#use;
    this.#use = use;
    try {
      return await this.settling(body);
    } finally {
      this.#use = before;
    }
  }

  /** Resolves only after every statement of the body has ended, so that a late interrupt cannot hit the next use. */
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

  all({ sql, values }: Query): Promise<Row[]> {
    return this.#limited<Row[]>(sql, (statement, done) => statement.all<Row>(values, done));
  }

  async together(queries: readonly Query[]): Promise<Row[][]> {
    const results: Row[][] = [];
    for (const query of queries) results.push(await this.all(query));
    return results;
  }

  run({ sql, values }: Query): Promise<number> {
    return this.#limited<number>(sql, (statement, done) =>
      statement.run(values, function (error: Error | null) {
        done(error, this.changes);
      }),
    );
  }

  /** Begins, commits or rolls back, without a time limit. */
  command(sql: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(fromSqlite(error));
      this.#call(sql, fail, (statement) =>
        statement.run([], (error: Error | null) => (error === null ? resolve() : fail(error))),
      );
    });
  }

  /**
   * Interrupts running statements that are past their deadline or have no waiter. SQLite ignores an interrupt before a statement has begun,
   * so this is called repeatedly. An interrupt after the statement has ended is ignored too, because nothing else runs on the connection
   * until its use ends.
   */
  interruptOverdue(): void {
    if (this.#running.size === 0) return;
    if ([...this.#running.values()].some((until) => this.#isOver(until))) this.#database.interrupt();
  }

  /** True if a statement with this deadline must stop. */
  #isOver(until: number): boolean {
    return this.#ending || this.#use.waiter?.isGone === true || until < performance.now();
  }

  /**
   * Interrupts the running statements and resolves when all have ended. sqlite3 would wait for them on close, and accepts no interrupt
   * while it closes.
   */
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

  #limited<T>(sql: string, run: (statement: sqlite3.Statement, done: Done<T>) => void): Promise<T> {
    if (this.#ending) return Promise.reject(new DatabaseError('unavailable', 'closed'));
    if (this.#use.waiter?.isGone) return Promise.reject(gone());
    const id = this.#started++;
    const until = performance.now() + this.#use.maxMs;
    this.#running.set(id, until);
    const ended = () => {
      this.#running.delete(id);
      if (this.#running.size === 0) {
        for (const settled of this.#settled.splice(0)) settled();
      }
    };
    return new Promise((resolve, reject) => {
      let attempts = 0;
      const done: Done<T> = (error, value) => {
        if (error !== null) return fail(error);
        ended();
        resolve(value);
      };
      const fail = (error: Error) => {
        const failure = error instanceof DatabaseError ? error : fromSqlite(error);
        attempts += 1;
        if (failure.code === 'SQLITE_SCHEMA' && attempts < schemaAttempts && !this.#isOver(until)) {
          // The statement has had no effect. Prepared again, it uses the new schema.
          this.#statements.delete(sql);
          start();
          return;
        }
        ended();
        reject(failure);
      };
      const start = () => this.#call(sql, fail, (statement) => run(statement, done));
      start();
    });
  }

  #call(sql: string, fail: (error: Error) => void, then: (statement: sqlite3.Statement) => void): void {
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
