import type pg from 'pg';
import type { Reading } from '#src/contract/reading.js';
import { DatabaseError, fromPostgres } from './database-error.js';
import { bulkInserts, type Connection, type Driver } from './driver.js';
import { Gate } from './gate.js';
import { gone } from './lane.js';
import { createLockWatch } from './lock-watch.js';
import { nameStatements } from './postgres-names.js';
import { openPostgresPool, type PostgresOptions, readOnly, staleStatement } from './postgres-pool.js';
import type { Query, Value } from './query.js';
import type { Row } from './table.js';
import { longestWaitMs } from './waiting-line.js';

export { readOnly } from './postgres-pool.js';

/** How many write at once. While they wait for locks, and lists for the disk, what is left reads everything else. */
const writers = 5;
/** Keeps other migrating processes out; any number will do as long as it stays. */
const migrationLock = 7_387_201_944;

const textOid = 25;
/** pg takes binary values for UTF-8, which would quietly make another number of a number. */
const refuseBinary = () => {
  throw new Error('a query of texts has a column of another type');
};
/** The binary format of a text is the text itself; only as arrays does pg hand out such rows without a copy of each value. */
const asTexts = {
  binary: true,
  rowMode: 'array',
  types: { getTypeParser: (oid: number) => (oid === textOid ? String : refuseBinary) },
} as const;

/** Opens Postgres as the database of the service. */
export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  const names = nameStatements(options.prepared);
  const { watch, lease, listen, close } = openPostgresPool(options, names);
  const lockWatch = createLockWatch(watch.ask);
  const gate = new Gate(writers);
  const query = async ({ sql, values, allText }: Query, client: pg.PoolClient) => {
    const name = values.length === 0 && sql.length < 20 ? undefined : names.nameOf(sql, client);
    try {
      // pg takes the values as they are and does not change them; its types want a mutable array.
      return await client.query<Row>({
        text: sql,
        values: values as unknown[],
        ...(name === undefined ? {} : { name }),
        ...(allText ? asTexts : {}),
      });
    } catch (error) {
      throw fromPostgres(error);
    }
  };
  const rowsOf = async (given: Query, client: pg.PoolClient): Promise<Row[]> => {
    const { rows, fields } = await query(given, client);
    return given.allText ? rows.map((row) => named(fields, row as unknown as readonly Value[])) : rows;
  };
  const on = (client: pg.PoolClient, reading?: Reading): Connection => ({
    all: async (given) => {
      if (reading?.waiter.isGone) throw gone();
      return rowsOf(given, client);
    },
    together: async (given) => {
      const sent = given.map((one) => rowsOf(one, client));
      await Promise.allSettled(sent);
      return Promise.all(sent);
    },
    run: async (given) => (await query(given, client)).rowCount ?? 0,
  });
  /** A transaction. What it writes last travels together with its COMMIT, which rolls back where any of that failed. */
  const within = <T>(
    begin: string,
    until: number,
    body: (connection: Connection) => Promise<{ readonly value: T; readonly last: readonly Query[] }>,
    reading?: Reading,
  ): Promise<T> =>
    lease(reading, async (client) => {
      await query({ sql: begin, values: [] }, client);
      const watched = lockWatch.enter(processIdOf(client), until);
      try {
        const { value, last } = await body(on(client, reading));
        const sent = [...last, { sql: 'COMMIT', values: [] }].map((given) => query(given, client));
        await Promise.allSettled(sent);
        const results = await Promise.all(sent);
        // Postgres answers the COMMIT of a failed transaction with ROLLBACK and no error.
        if (results.at(-1)?.command !== 'COMMIT') throw new DatabaseError('other', 'rolled_back');
        return value;
      } catch (error) {
        const rollback = () => query({ sql: 'ROLLBACK', values: [] }, client);
        // What cancels a list may reach the server as late as here, and does so once.
        await rollback()
          .catch(rollback)
          .catch(() => {});
        throw isLate(error, until) ? new DatabaseError('busy', 'waited_too_long') : error;
      } finally {
        lockWatch.leave(watched);
      }
    });
  const alone = async <T>(value: Promise<T>) => ({ value: await value, last: [] });

  return {
    dialect: 'postgres',
    read: async (given, reading) => {
      const once = () => lease(reading, (client) => rowsOf(given, client));
      return once().catch((error: unknown) => {
        if (error instanceof DatabaseError && staleStatement.has(error.code)) return once();
        throw error;
      });
    },
    snapshot: (body, reading) =>
      within(
        'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
        // Reads wait for no lock but that of a schema change.
        performance.now() + longestWaitMs,
        (connection) => alone(body(connection)),
        reading,
      ),
    transact: async (body, until) => {
      // It is asked every half second; to ask it with every write would cost a connection each.
      if (!watch.isWritable()) throw new DatabaseError('notWritable', readOnly);
      return gate.use(until, () =>
        within('BEGIN', until, async (connection) => {
          const { value, inserts } = await body(connection);
          return { value, last: bulkInserts('postgres', inserts) };
        }),
      );
    },
    exclusive: (body) =>
      within('BEGIN', Number.POSITIVE_INFINITY, async (connection) => {
        await connection.all({
          sql: "select set_config('statement_timeout', '0', true), set_config('lock_timeout', '60s', true)",
          values: [],
        });
        await connection.all({ sql: `select pg_advisory_xact_lock(${migrationLock})`, values: [] });
        return alone(body(connection));
      }),
    listen,
    ping: () => watch.check(),
    isSound: async () => true,
    // Autovacuum does it, on whichever server this is.
    optimize: async () => {},
    scrub: async (tables) => {
      await lease(undefined, async (client) => {
        await query({ sql: "set statement_timeout = '0'", values: [] }, client);
        try {
          for (const table of tables) await query({ sql: `vacuum "${table}"`, values: [] }, client);
        } finally {
          await query({ sql: 'reset statement_timeout', values: [] }, client);
        }
      });
    },
    serverTime: async () => {
      const sql = 'select cast(extract(epoch from clock_timestamp()) * 1000 as text) as ms';
      const [row] = await lease(undefined, (client) => rowsOf({ sql, values: [] }, client));
      return Number(row?.ms);
    },
    describe: async () => {
      const [row] = await lease(undefined, (client) => rowsOf({ sql: 'show server_version', values: [] }, client));
      return `PostgreSQL ${row?.server_version}`;
    },
    close: async () => {
      lockWatch.stop();
      await close();
    },
  };
}

function named(fields: readonly pg.FieldDef[], values: readonly Value[]): Row {
  const row: Record<string, Value> = {};
  fields.forEach(({ name }, at) => {
    row[name] = values[at] ?? null;
  });
  return row;
}

/** The server process behind a connection, as `pg_stat_activity` names it. */
function processIdOf(client: pg.PoolClient): number {
  // pg has it and its types do not say so.
  return (client as unknown as { processID?: number | null }).processID ?? 0;
}

/** Whether a statement was cancelled because its transaction had waited for as long as it may. */
function isLate(error: unknown, until: number): boolean {
  return error instanceof DatabaseError && error.kind === 'timeout' && performance.now() >= until;
}
