import { existsSync, statSync } from 'node:fs';
import sqlite3 from 'sqlite3';
import { DatabaseError, fromSqlite } from './database-error.js';
import { bulkInserts, type Connection, type Driver, type Insert, type Transaction } from './driver.js';
import type { Query } from './query.js';
import type { Row } from './table.js';

const readers = 3;
/** Most statements a connection keeps prepared; the oldest is finalised first. */
const preparedStatements = 500;
/** Most units that share one commit. */
const defaultLargestGroup = 64;
const busyTimeoutMs = 5000;
const largestCheckedBytes = 100 * 1024 * 1024;

/** A connection of our own: each SQL text is prepared once. `Statement.get` is never used, as it keeps its snapshot open. */
class SqliteConnection implements Connection {
  readonly #database: sqlite3.Database;
  readonly #statements = new Map<string, sqlite3.Statement>();

  private constructor(database: sqlite3.Database) {
    this.#database = database;
  }

  static async open(file: string): Promise<SqliteConnection> {
    const database = await new Promise<sqlite3.Database>((resolve, reject) => {
      const opened = new sqlite3.Database(file, (error) =>
        error === null ? resolve(opened) : reject(fromSqlite(error)),
      );
    });
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

  all({ sql, values }: Query): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.#prepared(sql, reject)?.all<Row>(values, (error: Error | null, rows: Row[]) =>
        error === null ? resolve(rows) : reject(fromSqlite(error)),
      );
    });
  }

  run({ sql, values }: Query): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#prepared(sql, reject)?.run(values, function (error: Error | null) {
        if (error === null) resolve(this.changes);
        else reject(fromSqlite(error));
      });
    });
  }

  #prepared(sql: string, reject: (error: unknown) => void): sqlite3.Statement | undefined {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql, (error: Error | null) => {
      if (error === null) return;
      this.#statements.delete(sql);
      reject(fromSqlite(error));
    });
    if (this.#statements.size >= preparedStatements) {
      const [oldest] = this.#statements;
      if (oldest !== undefined) {
        this.#statements.delete(oldest[0]);
        oldest[1].finalize();
      }
    }
    this.#statements.set(sql, statement);
    return statement;
  }

  close(): Promise<void> {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    return new Promise((resolve, reject) => {
      this.#database.close((error) => (error === null ? resolve() : reject(fromSqlite(error))));
    });
  }
}

const command = (sql: string): Query => ({ sql, values: [] });

interface Waiting {
  readonly body: Transaction<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes through one connection. Units that wait while a commit is under way share the next one (group commit). A group has no savepoints,
 * as each costs every unit two turns of the thread pool: when a unit fails, the group is rolled back and runs once more, each unit in a
 * transaction of its own. So the one that fails is answered by what is committed, and not by what others of its group had only begun.
 */
class Writer {
  readonly #connection: SqliteConnection;
  readonly #largestGroup: number;
  readonly #queue: Waiting[] = [];
  #busy: Promise<void> | undefined;

  constructor(connection: SqliteConnection, largestGroup: number) {
    this.#connection = connection;
    this.#largestGroup = largestGroup;
  }

  transact<T>(body: Transaction<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ body, resolve: resolve as (value: unknown) => void, reject });
      this.#busy ??= this.#drain();
    });
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    await this.#busy;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const again = await this.#group(this.#largestGroup, () => this.#queue.shift());
      for (const unit of again) await this.#group(1, once(unit));
    }
    // In the same step as the last look at the queue: whoever comes next starts anew.
    this.#busy = undefined;
  }

  /** Commits up to so many units together; returns those that have to run again because one of them failed. */
  async #group(most: number, next: () => Waiting | undefined): Promise<Waiting[]> {
    const done: { readonly unit: Waiting; readonly value: unknown }[] = [];
    const inserts: Insert[] = [];
    let current: Waiting | undefined;
    try {
      await this.#connection.run(command('BEGIN IMMEDIATE'));
      while (done.length < most) {
        current = next();
        if (current === undefined) break;
        const result = await current.body(this.#connection);
        inserts.push(...result.inserts);
        done.push({ unit: current, value: result.value });
        current = undefined;
      }
      for (const insert of bulkInserts('sqlite', inserts)) await this.#connection.run(insert);
      await this.#connection.run(command('COMMIT'));
    } catch (error) {
      // SQLite may have rolled back by itself (disk full, for one); then this rollback has nothing to do and says so.
      await this.#connection.run(command('ROLLBACK')).catch(() => {});
      if (current !== undefined && done.length > 0) return [...done.map(({ unit }) => unit), current];
      current?.reject(error);
      for (const { unit } of done) unit.reject(error);
      // BEGIN itself failed: the unit at the head gets the error, so that a database that stays locked is not asked for ever.
      if (done.length === 0 && current === undefined) next()?.reject(error);
      return [];
    }
    for (const { unit, value } of done) unit.resolve(value);
    return [];
  }
}

function once(unit: Waiting): () => Waiting | undefined {
  let left: Waiting | undefined = unit;
  return () => {
    const given = left;
    left = undefined;
    return given;
  };
}

/** Hands out connections one user at a time, first come, first served. */
class Pool {
  readonly #idle: SqliteConnection[];
  readonly #waiting: ((connection: SqliteConnection) => void)[] = [];

  constructor(connections: readonly SqliteConnection[]) {
    this.#idle = [...connections];
  }

  async use<T>(body: (connection: SqliteConnection) => Promise<T>): Promise<T> {
    const connection =
      this.#idle.pop() ?? (await new Promise<SqliteConnection>((resolve) => this.#waiting.push(resolve)));
    try {
      return await body(connection);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(connection);
      else next(connection);
    }
  }
}

/** Opens an SQLite file: one writer, several readers, every commit synced to disk. */
export async function openSqlite(file: string, largestGroup = defaultLargestGroup): Promise<Driver> {
  const writerConnection = await SqliteConnection.open(file);
  const readerConnections = await Promise.all(Array.from({ length: readers }, () => SqliteConnection.open(file)));
  const writer = new Writer(writerConnection, largestGroup);
  const pool = new Pool(readerConnections);
  let closed = false;
  const open = () => {
    if (closed) throw new DatabaseError('unavailable', 'closed');
  };
  return {
    dialect: 'sqlite',
    read: async (query) => {
      open();
      return pool.use((connection) => connection.all(query));
    },
    snapshot: async (body) => {
      open();
      return pool.use(async (connection) => {
        await connection.run(command('BEGIN'));
        try {
          return await body(connection);
        } finally {
          await connection.run(command('COMMIT'));
        }
      });
    },
    transact: async (body) => {
      open();
      return writer.transact(body);
    },
    exclusive: async (body) => writer.transact(async (connection) => ({ value: await body(connection), inserts: [] })),
    ping: async () => {
      await pool.use((connection) => connection.all(command('select 1 as one')));
    },
    isSound: async () => {
      // Reading all of a large file would hold up the start.
      if (!existsSync(file) || statSync(file).size >= largestCheckedBytes) return true;
      const [row] = await pool.use((connection) => connection.all(command('PRAGMA quick_check(1)')));
      return row?.quick_check === 'ok';
    },
    optimize: () =>
      writer.transact(async (connection) => {
        await connection.all(command('PRAGMA optimize'));
        return { value: undefined, inserts: [] };
      }),
    describe: async () => {
      const [row] = await pool.use((connection) => connection.all(command('select sqlite_version() as version')));
      return `SQLite ${row?.version}`;
    },
    close: async () => {
      closed = true;
      await writer.idle();
      await Promise.all([writerConnection, ...readerConnections].map((connection) => connection.close()));
    },
  };
}
