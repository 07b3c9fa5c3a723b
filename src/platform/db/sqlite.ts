import { existsSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reading } from '#src/contract/reading.js';
import { FairSemaphore } from '../admission/fair-semaphore.js';
import { bind } from '../runtime/bind.js';
import { DatabaseError } from './database-error.js';
import type { Connection, Driver } from './driver.js';
import { createSlots, type Slots } from './list-slots.js';
import { type Query, statement } from './query.js';
import { SqliteConnection } from './sqlite-connection.js';
import { isNewDatabase, logWithoutFile, SqliteFiles } from './sqlite-moved.js';
import { Writer, type WriterOptions } from './sqlite-writer.js';
import type { Row } from './table.js';
import { longestWaitMs, waitedTooLong } from './waiting-line.js';

/** Reader connections: `lists` for list queries, `others` for all other reads. Lists cannot take the latter. */
const readers = { lists: 3, others: 2 } as const;
/** Most list connections one account uses at once. */
const listsOfAccount = 2;
/** Interval of the check for overdue statements. */
const lookMs = 50;
/** Most units in one commit. */
const defaultLargestGroup = 64;
const largestCheckedBytes = 100 * 1024 * 1024;
/** Longest wait of a migration for other processes; the same as on Postgres. */
const exclusiveWaitMs = 60_000;
/** `busy_timeout` of the writer. Between two attempts it drops units that have left the queue. */
const writerBusyMs = 1000;

/** A connection pool. Each connection has one user at a time; callers wait in FIFO order. */
class Pool {
  readonly #idle: SqliteConnection[];
  readonly #slots: FairSemaphore;

  constructor(connections: readonly SqliteConnection[]) {
    this.#idle = [...connections];
    this.#slots = new FairSemaphore({ all: connections.length, waitMs: longestWaitMs, refuse: waitedTooLong });
  }

  async use<T>(body: (connection: SqliteConnection) => Promise<T>): Promise<T> {
    if (!this.#slots.tryTake('all')) await this.#slots.take('all');
    const connection = this.#idle.pop();
    if (connection === undefined) throw new Error('there is a connection for each slot');
    try {
      return await body(connection);
    } finally {
      this.#idle.push(connection);
      this.#slots.give('all');
    }
  }
}

/** Longest wait for writers before the file is rewritten, and for readers of the WAL afterwards. */
const scrubWaitMs = 60_000;
/** Timeout of one attempt to truncate the WAL, in milliseconds. It waits for readers, and blocks writes. */
const truncateWaitMs = 200;

/** Removes deleted texts from full-text tables, rewrites the file without its free pages, then checkpoints and truncates the WAL. Uses its own connection. */
async function scrub(file: string): Promise<void> {
  const connection = await SqliteConnection.open(file);
  try {
    const run = (sql: string) => connection.all(statement(sql));
    await run(`PRAGMA busy_timeout = ${scrubWaitMs}`);
    // Full-text tables mark deleted rows and remove their text when parts are merged.
    const texts = "select name from sqlite_schema where sql like 'create virtual table % using fts5(%'";
    for (const { name } of await run(texts)) await run(`insert into ${name} (${name}) values ('optimize')`);
    // VACUUM makes a copy, which would take as much memory as the file has bytes.
    await run('PRAGMA temp_store = FILE');
    await run('VACUUM');
    await run(`PRAGMA busy_timeout = ${truncateWaitMs}`);
    const until = performance.now() + scrubWaitMs;
    for (;;) {
      const [row] = await run('PRAGMA wal_checkpoint(TRUNCATE)');
      if (Number(row?.busy) === 0) return;
      if (performance.now() > until) throw new DatabaseError('busy', 'SQLITE_BUSY');
      await sleep(truncateWaitMs);
    }
  } finally {
    await connection.close();
  }
}

/** Options of an SQLite database. */
interface SqliteOptions extends WriterOptions {
  /** Most bytes of a list. */
  readonly listBytes: number;
}

/** An open database. */
interface Opened {
  readonly file: string;
  readonly writer: Writer;
  readonly pools: { readonly lists: Pool; readonly others: Pool };
  readonly listSlots: Slots;
  readonly statementMs: number;
  isClosed: boolean;
}

/**
 * Opens an SQLite file: one writer, several readers, every commit synced to disk. Throws DatabaseError if there is a log without its
 * database file.
 */
export async function openSqlite(
  file: string,
  { largestGroup = defaultLargestGroup, statementMs = 10_000, listBytes = 16_777_216 }: Partial<SqliteOptions> = {},
): Promise<Driver> {
  if (logWithoutFile(file) !== undefined) throw new DatabaseError('unavailable', 'log_without_file');
  const openAll = (count: number, largestBytes?: number) =>
    Promise.all(Array.from({ length: count }, () => SqliteConnection.open(file, { largestBytes })));
  const writerConnection = await SqliteConnection.open(file, { creates: isNewDatabase(file) });
  const [listConnections, otherConnections] = await Promise.all([
    // The rows of a list beyond its bytes are discarded, but up to twice as many are assembled before the size is known.
    openAll(readers.lists, 2 * listBytes),
    openAll(readers.others),
  ]);
  await writerConnection.all(statement(`PRAGMA busy_timeout = ${writerBusyMs}`));
  const writer = new Writer(writerConnection, new SqliteFiles(file), { largestGroup, statementMs });
  const pools = { lists: new Pool(listConnections), others: new Pool(otherConnections) };
  const listSlots = createSlots({ places: readers.lists, perAccount: listsOfAccount });
  const connections = [writerConnection, ...listConnections, ...otherConnections];
  const look = setInterval(() => {
    for (const connection of connections) connection.interruptOverdue();
  }, lookMs).unref();
  const opened: Opened = { file, writer, pools, listSlots, statementMs, isClosed: false };
  return {
    dialect: 'sqlite',
    ...bind(opened, { read, isSound, optimize, describe }),
    snapshot: (body, reading) => snapshot(opened, body, reading),
    transact: async (body, until) => {
      requireOpen(opened);
      return writer.transact(body, until);
    },
    exclusive: (body) => useUnlimited(writer, body, exclusiveWaitMs),
    ping: async () => void (await readOne(opened, 'select 1 as one')),
    scrub: () => scrub(file),
    listen: () => {},
    notifies: () => false,
    serverTime: async () => undefined,
    close: async () => {
      opened.isClosed = true;
      await writer.idle();
      await Promise.all(connections.map((connection) => connection.end()));
      clearInterval(look);
      await Promise.all([...listConnections, ...otherConnections].map((connection) => connection.close()));
      // Last and alone: only the last connection to close moves the log into the file, and if two close at once, neither counts as the
      // last.
      await writerConnection.close();
    },
  };
}

async function read(opened: Opened, query: Query, reading?: Reading): Promise<Row[]> {
  return use(opened, reading, (connection) => connection.all(query));
}

/** Reads on a list connection if `reading` is given, otherwise on one of the others. */
function use<T>(
  opened: Opened,
  reading: Reading | undefined,
  body: (connection: SqliteConnection) => Promise<T>,
): Promise<T> {
  requireOpen(opened);
  const { pools, listSlots, statementMs } = opened;
  if (reading === undefined)
    return pools.others.use((connection) => connection.within({ maxMs: statementMs }, () => body(connection)));
  const { waiter, maxMs = statementMs } = reading;
  return listSlots(reading, () =>
    pools.lists.use((connection) =>
      connection.within({ maxMs: Math.min(maxMs, statementMs), waiter }, () => body(connection)),
    ),
  );
}

function requireOpen({ isClosed }: Opened): void {
  if (isClosed) throw new DatabaseError('unavailable', 'closed');
}

async function snapshot<T>(
  opened: Opened,
  body: (connection: Connection) => Promise<T>,
  reading?: Reading,
): Promise<T> {
  return use(opened, reading, async (connection) => {
    await connection.command('BEGIN');
    try {
      return await connection.settling(() => body(connection));
    } finally {
      await connection.command('COMMIT');
    }
  });
}

/** Uses the writer connection, not the read pool, without a time limit for statements. */
function useUnlimited<T>(writer: Writer, body: (connection: Connection) => Promise<T>, waitMs: number): Promise<T> {
  return writer.transact(
    async (connection) => ({ value: await body(connection), inserts: [] }),
    performance.now() + waitMs,
    Number.POSITIVE_INFINITY,
  );
}

async function readOne({ pools }: Opened, sql: string): Promise<Row | undefined> {
  const [row] = await pools.others.use((connection) => connection.all(statement(sql)));
  return row;
}

async function isSound(opened: Opened): Promise<boolean> {
  const { file } = opened;
  // Checking a large file would delay the start.
  if (!existsSync(file) || statSync(file).size >= largestCheckedBytes) return true;
  return (await readOne(opened, 'PRAGMA quick_check(1)'))?.quick_check === 'ok';
}

async function optimize({ writer }: Opened): Promise<void> {
  await useUnlimited(writer, (connection) => connection.all(statement('PRAGMA optimize')), longestWaitMs);
}

async function describe(opened: Opened): Promise<string> {
  return `SQLite ${(await readOne(opened, 'select sqlite_version() as version'))?.version}`;
}
