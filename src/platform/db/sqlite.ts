import { existsSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reading } from '#src/contract/reading.js';
import { DatabaseError } from './database-error.js';
import { bulkInserts, type Connection, type Driver, type Insert, type Transaction } from './driver.js';
import { Lane, laneQueue } from './lane.js';
import { SqliteConnection } from './sqlite-connection.js';
import { isNewDatabase, logWithoutFile, SqliteFiles } from './sqlite-moved.js';
import { longestWaitMs, WaitingLine } from './waiting-line.js';

/** Connections that read lists, and those that read everything else, which lists cannot take. */
const readers = { lists: 3, others: 2 } as const;
/** How many of those for lists an account can have at once. */
const listsOfAccount = 2;
/** How often connections are looked at for statements that take too long. */
const lookMs = 50;
/** Most units that share one commit, and most characters of what they leave for it: it is written as one text. */
const defaultLargestGroup = 64;
const largestGroupCharacters = 8_388_608;
const largestCheckedBytes = 100 * 1024 * 1024;
/** A migration waits this long for other processes, as on Postgres. */
const exclusiveWaitMs = 60_000;
/** How long the writer waits at a time; between two waits it sees who has left the line. */
const writerBusyMs = 1000;
/** SQLite sometimes says busy without having waited. */
const busyPauseMs = 50;

interface Waiting {
  readonly body: Transaction<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly until: number;
}

/**
 * Writes through one connection. Units that wait while a commit is under way share the next one (group commit). A group has no savepoints,
 * as each costs every unit two turns of the thread pool: when a unit fails, the group is rolled back and runs once more, each unit in a
 * transaction of its own. So the one that fails is answered by what is committed, and not by what others of its group had only begun.
 */
class Writer {
  readonly #connection: SqliteConnection;
  readonly #files: SqliteFiles;
  readonly #largestGroup: number;
  readonly #statementMs: number;
  readonly #queue = new WaitingLine<Waiting>();
  /** Those that run once more, each in a transaction of its own. */
  readonly #alone = new WaitingLine<Waiting>();
  #busy: Promise<void> | undefined;

  constructor(
    connection: SqliteConnection,
    files: SqliteFiles,
    { largestGroup, statementMs }: Omit<SqliteOptions, 'listBytes'>,
  ) {
    this.#connection = connection;
    this.#files = files;
    this.#largestGroup = largestGroup;
    this.#statementMs = statementMs;
  }

  transact<T>(body: Transaction<T>, until: number, maxMs = this.#statementMs): Promise<T> {
    return new Promise((resolve, reject) => {
      const limited: Transaction<T> = (connection) => this.#connection.within({ maxMs }, () => body(connection));
      this.#queue.push({ body: limited, resolve: resolve as (value: unknown) => void, reject, until });
      this.#busy ??= this.#drain();
    });
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    await this.#busy;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      this.#alone.push(...(await this.#group(this.#largestGroup, this.#queue)));
      while (this.#alone.length > 0) await this.#group(1, this.#alone);
    }
    // In the same step as the last look at the queue: the next unit starts a new run.
    this.#busy = undefined;
  }

  /** Commits up to so many units together; returns those that have to run again because one of them failed. */
  async #group(max: number, line: WaitingLine<Waiting>): Promise<Waiting[]> {
    if (!(await this.#begin(line))) return [];
    const done: { readonly unit: Waiting; readonly value: unknown }[] = [];
    const inserts: Insert[] = [];
    let characters = 0;
    let current: Waiting | undefined;
    try {
      while (done.length < max && characters < largestGroupCharacters) {
        current = line.shift();
        if (current === undefined) break;
        const result = await current.body(this.#connection);
        inserts.push(...result.inserts);
        characters += charactersOf(result.inserts);
        done.push({ unit: current, value: result.value });
        current = undefined;
      }
      for (const insert of bulkInserts('sqlite', inserts)) await this.#connection.run(insert);
      this.#files.demandUnmoved();
      await this.#connection.command('COMMIT');
    } catch (error) {
      // SQLite may have rolled back by itself (disk full, for one); then this rollback has nothing to do and says so.
      await this.#connection.command('ROLLBACK').catch(() => {});
      if (current !== undefined && isTimeout(error)) {
        // It would take as long alone, and hold up every writer once more.
        current.reject(error);
        return done.map(({ unit }) => unit);
      }
      if (current !== undefined && done.length > 0) return [...done.map(({ unit }) => unit), current];
      // What one of them leaves refers to what another has deleted.
      if (current === undefined && done.length > 1 && isRefused(error)) return done.map(({ unit }) => unit);
      current?.reject(error);
      for (const { unit } of done) unit.reject(error);
      return [];
    }
    for (const { unit, value } of done) unit.resolve(value);
    return [];
  }

  /** Begins a transaction, or tells the unit at the head what failed. While another process holds the lock, everybody waits in the line. */
  async #begin(line: WaitingLine<Waiting>): Promise<boolean> {
    while (line.length > 0) {
      try {
        await this.#connection.command('BEGIN IMMEDIATE');
        return true;
      } catch (error) {
        if (error instanceof DatabaseError && error.kind === 'conflict') await sleep(busyPauseMs);
        else line.shift()?.reject(error);
      }
    }
    return false;
  }
}

function charactersOf(inserts: readonly Insert[]): number {
  let characters = 0;
  for (const { rows } of inserts)
    for (const row of rows) for (const value of row) characters += typeof value === 'string' ? value.length : 0;
  return characters;
}

const isRefused = (error: unknown) =>
  error instanceof DatabaseError && (error.kind === 'reference' || error.kind === 'unique');

const isTimeout = (error: unknown) => error instanceof DatabaseError && error.kind === 'timeout';

interface WaitingReader {
  readonly resolve: (connection: SqliteConnection) => void;
  readonly reject: (error: unknown) => void;
  readonly until: number;
}

/** Hands out connections one user at a time, first come, first served. */
class Pool {
  readonly #idle: SqliteConnection[];
  readonly #waiting = new WaitingLine<WaitingReader>();

  constructor(connections: readonly SqliteConnection[]) {
    this.#idle = [...connections];
  }

  async use<T>(body: (connection: SqliteConnection) => Promise<T>): Promise<T> {
    const connection =
      this.#idle.pop() ??
      (await new Promise<SqliteConnection>((resolve, reject) =>
        this.#waiting.push({ resolve, reject, until: performance.now() + longestWaitMs }),
      ));
    try {
      return await body(connection);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(connection);
      else next.resolve(connection);
    }
  }
}

/** Longest wait for writers before the file is rewritten, and for readers of its log afterwards. */
const scrubWaitMs = 60_000;

/** Rewrites the file without what is free in it, then moves the log into it and empties that, by a connection of its own. */
async function scrub(file: string): Promise<void> {
  const connection = await SqliteConnection.open(file);
  try {
    const run = (sql: string) => connection.all({ sql, values: [] });
    await run(`PRAGMA busy_timeout = ${scrubWaitMs}`);
    // The copy that it makes would need as much memory as the file has bytes.
    await run('PRAGMA temp_store = FILE');
    await run('VACUUM');
    const until = performance.now() + scrubWaitMs;
    for (;;) {
      const [row] = await run('PRAGMA wal_checkpoint(TRUNCATE)');
      if (Number(row?.busy) === 0) return;
      if (performance.now() > until) throw new DatabaseError('busy', 'SQLITE_BUSY');
      await sleep(busyPauseMs);
    }
  } finally {
    await connection.close();
  }
}

/** How an SQLite file is used. */
interface SqliteOptions {
  /** Most units that share one commit. */
  readonly largestGroup: number;
  /** For how long a statement may run. */
  readonly statementMs: number;
  /** The bytes that a list may have. */
  readonly listBytes: number;
}

/** Opens an SQLite file: one writer, several readers, every commit synced to disk. Throws DatabaseError where only the log of a database is there. */
export async function openSqlite(
  file: string,
  { largestGroup = defaultLargestGroup, statementMs = 10_000, listBytes = 16_777_216 }: Partial<SqliteOptions> = {},
): Promise<Driver> {
  if (logWithoutFile(file) !== undefined) throw new DatabaseError('unavailable', 'log_without_file');
  const openAll = (count: number, largestBytes?: number) =>
    Promise.all(Array.from({ length: count }, () => SqliteConnection.open(file, { largestBytes })));
  const writerConnection = await SqliteConnection.open(file, { creates: isNewDatabase(file) });
  const [listConnections, otherConnections] = await Promise.all([
    // What a list reads beyond its bytes is thrown away; twice as much is still put together before it is known.
    openAll(readers.lists, 2 * listBytes),
    openAll(readers.others),
  ]);
  await writerConnection.all({ sql: `PRAGMA busy_timeout = ${writerBusyMs}`, values: [] });
  const writer = new Writer(writerConnection, new SqliteFiles(file), { largestGroup, statementMs });
  const pools = { lists: new Pool(listConnections), others: new Pool(otherConnections) };
  const lane = new Lane({ places: readers.lists, perAccount: listsOfAccount, ...laneQueue });
  const connections = [writerConnection, ...listConnections, ...otherConnections];
  const look = setInterval(() => {
    for (const connection of connections) connection.interruptOverdue();
  }, lookMs).unref();
  let closed = false;
  const open = () => {
    if (closed) throw new DatabaseError('unavailable', 'closed');
  };
  /** Reads by a connection for lists, or by one of the others. */
  const use = <T>(reading: Reading | undefined, body: (connection: SqliteConnection) => Promise<T>): Promise<T> => {
    open();
    if (reading === undefined)
      return pools.others.use((connection) => connection.within({ maxMs: statementMs }, () => body(connection)));
    const { waiter, maxMs = statementMs } = reading;
    return lane.use(reading, () =>
      pools.lists.use((connection) =>
        connection.within({ maxMs: Math.min(maxMs, statementMs), waiter }, () => body(connection)),
      ),
    );
  };
  /** By none of those that answer requests. */
  const useUnlimited = <T>(body: (connection: Connection) => Promise<T>, waitMs: number): Promise<T> =>
    writer.transact(
      async (connection) => ({ value: await body(connection), inserts: [] }),
      performance.now() + waitMs,
      Number.POSITIVE_INFINITY,
    );
  return {
    dialect: 'sqlite',
    read: async (query, reading) => use(reading, (connection) => connection.all(query)),
    snapshot: async (body, reading) =>
      use(reading, async (connection) => {
        await connection.command('BEGIN');
        try {
          return await connection.settling(() => body(connection));
        } finally {
          await connection.command('COMMIT');
        }
      }),
    transact: async (body, until) => {
      open();
      return writer.transact(body, until);
    },
    exclusive: (body) => useUnlimited(body, exclusiveWaitMs),
    ping: async () => {
      await pools.others.use((connection) => connection.all({ sql: 'select 1 as one', values: [] }));
    },
    isSound: async () => {
      // Reading all of a large file would hold up the start.
      if (!existsSync(file) || statSync(file).size >= largestCheckedBytes) return true;
      const [row] = await pools.others.use((connection) =>
        connection.all({ sql: 'PRAGMA quick_check(1)', values: [] }),
      );
      return row?.quick_check === 'ok';
    },
    optimize: () =>
      useUnlimited(async (connection) => {
        await connection.all({ sql: 'PRAGMA optimize', values: [] });
      }, longestWaitMs),
    scrub: () => scrub(file),
    listen: () => {},
    serverTime: async () => undefined,
    describe: async () => {
      const [row] = await pools.others.use((connection) =>
        connection.all({ sql: 'select sqlite_version() as version', values: [] }),
      );
      return `SQLite ${row?.version}`;
    },
    close: async () => {
      closed = true;
      await writer.idle();
      await Promise.all(connections.map((connection) => connection.end()));
      clearInterval(look);
      await Promise.all([...listConnections, ...otherConnections].map((connection) => connection.close()));
      // Last and alone: only the last connection to close moves the log into the file, and two that close at once are neither of them the last.
      await writerConnection.close();
    },
  };
}
