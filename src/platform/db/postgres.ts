import type pg from 'pg';
import type { Reading } from '#src/contract/reading.js';
import { FairSemaphore } from '../admission/fair-semaphore.js';
import { bind } from '../runtime/bind.js';
import { DatabaseError, fromPostgres } from './database-error.js';
import { bulkInserts, type Connection, type Driver, type TransactionBody } from './driver.js';
import { gone } from './list-slots.js';
import { createLockWatch, type LockWatch } from './lock-watch.js';
import { nameStatements, type StatementNames } from './postgres-names.js';
import {
  largestShare,
  limitsOf,
  openPostgresPool,
  type PostgresOptions,
  readOnly,
  staleStatement,
} from './postgres-pool.js';
import { beginWithin, Pooled, processIdOf, type SessionLimits } from './postgres-servers.js';
import { type Query, statement, type Value } from './query.js';
import { behind, type Standby } from './standby.js';
import type { Row } from './table.js';
import { longestWaitMs, waitedTooLong } from './waiting-line.js';

export { readOnly } from './postgres-pool.js';

/** Key of the advisory lock that excludes other migrating processes. The number is arbitrary but must not change. */
const migrationLock = 7_387_201_944;

const textOid = 25;
/** pg decodes binary values as UTF-8, which would silently corrupt numbers. */
const refuseBinary = () => {
  throw new Error('a query of texts has a column of another type');
};
/** The binary format of a text is the text itself. pg returns such rows without copying each value only in array mode. */
const asTexts = {
  binary: true,
  rowMode: 'array',
  types: { getTypeParser: (oid: number) => (oid === textOid ? String : refuseBinary) },
} as const;

/** Ends a long statement, and its locks, a second after its client was killed. Postgres 13, and some platforms, do not have the setting. */
const endWithClient =
  "do $$ begin perform set_config('client_connection_check_interval', '1s', true); exception when others then null; end $$";

type Begun<T> = (connection: Connection) => Promise<{ readonly value: T; readonly last: readonly Query[] }>;

interface Deps extends Pick<Awaited<ReturnType<typeof openPostgresPool>>, 'watch' | 'lease'> {
  readonly pooled: Pooled;
  readonly limits: SessionLimits;
  readonly names: StatementNames;
  readonly lockWatch: LockWatch;
  readonly gate: FairSemaphore;
}

async function open(options: PostgresOptions) {
  const pooled = new Pooled();
  const names = nameStatements(options.prepared, pooled);
  const { watch, lease, listen, close } = await openPostgresPool(options, names, pooled);
  const lockWatch = createLockWatch((text, values) => watch.ask(text, values));
  // While writers wait for locks, and lists wait for the disk, the remaining connections serve all other reads.
  const gate = new FairSemaphore({ all: largestShare(options.poolSize), refuse: waitedTooLong });
  const deps: Deps = { watch, lease, names, pooled, limits: limitsOf(options), lockWatch, gate };
  return { deps, listen, close };
}

/** Opens Postgres as the database of the service. */
export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  const { deps, listen, close } = await open(options);
  const { watch, pooled, lockWatch } = deps;
  return {
    dialect: 'postgres',
    ...bind(deps, { read, scrub, serverTime, describe }),
    snapshot: (body, reading) => snapshot(deps, body, reading),
    transact: (body, until) => transact(deps, body, until),
    exclusive: (body) =>
      within(deps, 'BEGIN', Number.POSITIVE_INFINITY, async (connection) => {
        await connection.together([
          statement("select set_config('statement_timeout', '0', true), set_config('lock_timeout', '60s', true)"),
          statement(endWithClient),
          statement(`select pg_advisory_xact_lock(${migrationLock})`),
        ]);
        return alone(body(connection));
      }),
    listen,
    notifies: () => options.listenUrl !== undefined || !pooled.any,
    ping: () => watch.check(),
    isSound: async () => true,
    // Autovacuum does this.
    optimize: async () => {},
    close: async () => {
      lockWatch.stop();
      await close();
    },
  };
}

/** Opens a standby. */
export async function openStandby(options: PostgresOptions): Promise<Standby> {
  const { deps, close } = await open({ ...options, isStandby: true });
  return {
    ...bind(deps, { read }),
    after: (position) => {
      const reached = statement(
        "select 1 as one where pg_is_in_recovery() and pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') >= cast($1 as numeric)",
        [position],
      );
      // The server behind the connection is asked, because another one may have taken its place.
      const lease: Deps['lease'] = (reading, body) =>
        deps.lease(reading, async (client) => {
          if ((await rowsOf(deps, reached, client)).length === 0) throw new DatabaseError('conflict', behind);
          return body(client);
        });
      const at = { ...deps, lease };
      return { ...bind(at, { read }), snapshot: (body, reading) => snapshot(at, body, reading) };
    },
    close: async () => {
      deps.lockWatch.stop();
      await close();
    },
  };
}

function snapshot<T>(deps: Deps, body: (connection: Connection) => Promise<T>, reading?: Reading): Promise<T> {
  return within(
    deps,
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    // Reads wait for no lock except that of a schema change.
    performance.now() + longestWaitMs,
    (connection) => alone(body(connection)),
    reading,
  );
}

async function read(deps: Deps, given: Query, reading?: Reading): Promise<Row[]> {
  const once = () =>
    deps.lease(reading, (client) =>
      deps.pooled.has(client)
        ? transactionOn(deps, client, 'BEGIN READ ONLY', performance.now() + longestWaitMs, (connection) =>
            alone(connection.all(given)),
          )
        : rowsOf(deps, given, client),
    );
  return once().catch((error: unknown) => {
    if (error instanceof DatabaseError && staleStatement.has(error.code)) return once();
    throw error;
  });
}

async function rowsOf(deps: Deps, given: Query, client: pg.PoolClient): Promise<Row[]> {
  const { rows, fields } = await query(deps, given, client);
  return given.allText ? rows.map((row) => named(fields, row as unknown as readonly Value[])) : rows;
}

async function query({ names }: Deps, { sql, values, allText }: Query, client: pg.PoolClient) {
  const name = values.length === 0 && sql.length < 20 ? undefined : names.nameOf(sql, client);
  try {
    // pg takes the values as they are and does not change them, but its types require a mutable array.
    return await client.query<Row>({
      text: sql,
      values: values as unknown[],
      ...(name === undefined ? {} : { name }),
      ...(allText ? asTexts : {}),
    });
  } catch (error) {
    throw fromPostgres(error);
  }
}

async function transact<T>(deps: Deps, body: TransactionBody<T>, until: number): Promise<T> {
  // The state is polled every half second; asking before every write would cost a connection each time.
  if (!deps.watch.isWritable()) throw new DatabaseError('notWritable', readOnly);
  const write = () =>
    within(deps, 'BEGIN', until, async (connection) => {
      const { value, inserts } = await body(connection);
      return { value, last: bulkInserts('postgres', inserts) };
    });
  return deps.gate.use('all', write, { waitMs: until - performance.now() });
}

function within<T>(deps: Deps, begin: string, until: number, body: Begun<T>, reading?: Reading): Promise<T> {
  return deps.lease(reading, (client) => transactionOn(deps, client, begin, until, body, reading));
}

/** Runs a transaction. Its last writes are sent together with COMMIT, which rolls back if any of them failed. */
async function transactionOn<T>(
  deps: Deps,
  client: pg.PoolClient,
  begin: string,
  until: number,
  body: Begun<T>,
  reading?: Reading,
): Promise<T> {
  const { lockWatch } = deps;
  const watched = lockWatch.enter(await beginOn(deps, begin, client), until);
  try {
    const { value, last } = await body(on(deps, client, reading));
    const sent = [...last, statement('COMMIT')].map((given) => query(deps, given, client));
    await Promise.allSettled(sent);
    const results = await Promise.all(sent);
    // Postgres answers the COMMIT of a failed transaction with ROLLBACK and no error.
    if (results.at(-1)?.command !== 'COMMIT') throw new DatabaseError('other', 'rolled_back');
    return value;
  } catch (error) {
    const rollback = () => query(deps, statement('ROLLBACK'), client);
    // The cancellation of a list may reach the server as late as here, and only once.
    await rollback()
      .catch(rollback)
      .catch(() => {});
    throw isLate(error, until) ? new DatabaseError('busy', 'waited_too_long') : error;
  } finally {
    lockWatch.leave(watched);
  }
}

/** Begins a transaction and returns its server process. Through a pooler the limits hold only if each transaction sets them. */
async function beginOn({ pooled, limits }: Deps, begin: string, client: pg.PoolClient): Promise<number> {
  try {
    if (!pooled.has(client)) {
      await client.query(begin);
      return processIdOf(client);
    }
    const results = (await client.query(beginWithin(begin, limits))) as unknown as pg.QueryResult[];
    return Number(results.at(-1)?.rows[0]?.pid);
  } catch (error) {
    throw fromPostgres(error);
  }
}

function on(deps: Deps, client: pg.PoolClient, reading?: Reading): Connection {
  return {
    all: async (given) => {
      if (reading?.waiter.isGone) throw gone();
      return rowsOf(deps, given, client);
    },
    together: async (given) => {
      const sent = given.map((one) => rowsOf(deps, one, client));
      await Promise.allSettled(sent);
      return Promise.all(sent);
    },
    run: async (given) => (await query(deps, given, client)).rowCount ?? 0,
  };
}

async function alone<T>(value: Promise<T>) {
  return { value: await value, last: [] };
}

async function scrub(deps: Deps, tables: readonly string[]): Promise<void> {
  await deps.lease(undefined, async (client) => {
    const run = (sql: string) => query(deps, statement(sql), client);
    // VACUUM runs outside of transactions. Through a pooler, where only transactions have limits, it has none.
    const limit = deps.pooled.has(client) ? undefined : deps.limits.statement_timeout;
    if (limit !== undefined) await run("set statement_timeout = '0'");
    try {
      for (const table of tables) await run(`vacuum "${table}"`);
    } finally {
      if (limit !== undefined) await run(`set statement_timeout = '${limit}'`);
    }
  });
}

async function serverTime(deps: Deps): Promise<number> {
  const time = statement('select cast(extract(epoch from clock_timestamp()) * 1000 as text) as ms');
  const [row] = await deps.lease(undefined, (client) => rowsOf(deps, time, client));
  return Number(row?.ms);
}

async function describe(deps: Deps): Promise<string> {
  const version = statement('show server_version');
  const [row] = await deps.lease(undefined, (client) => rowsOf(deps, version, client));
  return `PostgreSQL ${row?.server_version}${deps.pooled.any ? ' through a connection pooler' : ''}`;
}

function named(fields: readonly pg.FieldDef[], values: readonly Value[]): Row {
  const row: Record<string, Value> = {};
  fields.forEach(({ name }, at) => {
    row[name] = values[at] ?? null;
  });
  return row;
}

/** True if a statement was cancelled because its transaction had used up its waiting time. */
function isLate(error: unknown, until: number): boolean {
  return error instanceof DatabaseError && error.kind === 'timeout' && performance.now() >= until;
}
