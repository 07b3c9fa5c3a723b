import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import type { Reading } from '#src/contract/reading.js';
import { cannotConnect, DatabaseError, fromPostgres } from './database-error.js';
import { bulkInserts, type Connection, type Driver } from './driver.js';
import { Gate } from './gate.js';
import { gone, Lane, laneQueue } from './lane.js';
import { createLockWatch } from './lock-watch.js';
import { cancel } from './postgres-cancel.js';
import { nameStatements } from './postgres-names.js';
import { destroy, watchServer } from './postgres-watch.js';
import type { Query, Value } from './query.js';
import type { Row } from './table.js';
import { longestWaitMs } from './waiting-line.js';

const poolSize = 12;
/** Of those, how many lists have at once, and how many of them an account. */
const lists = { places: 5, perAccount: 3 } as const;
/** How many write at once. While they wait for locks, and lists for the disk, what is left reads everything else. */
const writers = 5;
const acquireMs = 2000;
/** How often it looks for lists that nobody waits for any more. */
const lookMs = 100;
const timeouts = {
  lock_timeout: 3000,
  idle_in_transaction_session_timeout: 15_000,
} as const;
/** Keeps other migrating processes out; any number will do as long as it stays. */
const migrationLock = 7_387_201_944;

/** What the operator decides about Postgres. */
interface PostgresOptions {
  readonly url: string;
  /** False for poolers that cannot keep prepared statements. */
  readonly prepared: boolean;
  /** For how long a statement may run, in milliseconds. */
  readonly statementMs: number;
  /** Told when the server goes away or comes back. */
  readonly onChange: (up: boolean) => void;
  /** Told when the server is found to be read-only, and when it takes writes. */
  readonly onWritable: (writable: boolean) => void;
}

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

/** SQLSTATEs after which a prepared statement has to be made anew: the schema changed, or the statement is gone. */
const staleStatement = new Set(['0A000', '26000']);

/** A standby, or a server that its operator made read-only: after a failover another connection finds the primary. */
export const readOnly = '25006';
/** After these a connection does not go back to the pool. */
const endsConnection = new Set([...staleStatement, readOnly]);

/** Opens a pool; while the server is away every call fails at once with `unavailable`, and a probe notices when it is back. */
export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  const names = nameStatements(options.prepared);
  /** pg leaves a socket open where it cannot log in, and with it the process. */
  const sockets = new Set<Socket>();
  const settings: pg.ClientConfig = {
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    connectionString: options.url,
    application_name: `svc/${process.pid}`,
    connectionTimeoutMillis: acquireMs,
    // Statements that do not wait for each other are sent together.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  };
  const pool = new pg.Pool({
    ...settings,
    ...timeouts,
    statement_timeout: options.statementMs,
    max: poolSize,
    idleTimeoutMillis: 30_000,
  });
  const lane = new Lane({ ...lists, ...laneQueue });
  /** What looks whether anybody still waits for a list; a listener on each request would cost each request. */
  const looks = new Set<() => void>();
  const looking = setInterval(() => {
    for (const look of looks) look();
  }, lookMs).unref();
  /** Each connection with the generation that it is of. */
  const clients = new Map<pg.PoolClient, number>();
  /** Grows when the server takes writes again: a connection from before may lead to the one that did not. */
  let generation = 0;
  /** Whoever waits for a connection. */
  const connecting = new Set<(error: DatabaseError) => void>();
  pool.on('connect', (client) => {
    clients.set(client, generation);
    // A connection that is lost while leased rejects its query; the event itself needs a listener or ends the process.
    client.on('error', () => {});
    // Compiling takes longer than our statements do, and heeds no time limit.
    client.query('set jit = off').catch(() => {});
    catchReading(client);
  });
  pool.on('remove', (client) => clients.delete(client));
  pool.on('error', () => {});
  const watch = watchServer(settings, {
    onChange: (up) => {
      // Whoever waits for an answer of a server that is gone gets an error now, not at some time limit.
      if (!up) {
        for (const client of clients.keys()) destroy(client);
        for (const giveUp of connecting) giveUp(new DatabaseError('unavailable', 'away'));
        connecting.clear();
      }
      options.onChange(up);
    },
    onWritable: (writable) => {
      if (writable) generation += 1;
      options.onWritable(writable);
    },
    isConnected: () => clients.size > 0,
  });
  const lockWatch = createLockWatch(watch.ask);
  const gate = new Gate(writers);
  const isOld = (client: pg.PoolClient) => clients.get(client) !== generation;

  /** A connection, or an error as soon as the server is known to be away; one that comes too late is not used. */
  const connect = () =>
    new Promise<pg.PoolClient>((resolve, reject) => {
      connecting.add(reject);
      pool.connect().then(
        (client) => (connecting.delete(reject) ? resolve(client) : client.release(true)),
        (error: unknown) => {
          connecting.delete(reject);
          reject(error);
        },
      );
    });
  const lease = async <T>(body: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    watch.demandUp();
    let client: pg.PoolClient;
    try {
      client = await connect();
      while (isOld(client)) {
        client.release(true);
        client = await connect();
      }
    } catch (error) {
      watch.suspect();
      throw cannotConnect(error);
    }
    let broken = false;
    try {
      return await body(client);
    } catch (error) {
      const code = error instanceof DatabaseError ? error.code : '';
      broken = (error instanceof DatabaseError && error.kind === 'unavailable') || endsConnection.has(code);
      if (broken) watch.suspect(code === readOnly);
      throw error;
    } finally {
      client.release(broken || isOld(client) || names.isFull(client));
    }
  };
  /**
   * Runs statements of a list on a connection. What is still under way when nobody waits any more, or when the list's own time is over, is
   * cancelled, and the connection is kept until that is certain: a late one must not hit the statement of somebody else.
   */
  const leaseForList = <T>(reading: Reading, body: (client: pg.PoolClient) => Promise<T>): Promise<T> =>
    lane.use(reading, () =>
      lease(async (client) => {
        if (reading.waiter.isGone) throw gone();
        let cancelling: Promise<void> | undefined;
        const end = () => {
          cancelling ??= cancel(client);
        };
        const look = () => {
          if (reading.waiter.isGone) end();
        };
        looks.add(look);
        const timer = reading.maxMs === undefined ? undefined : setTimeout(end, reading.maxMs);
        try {
          return await body(client);
        } finally {
          clearTimeout(timer);
          looks.delete(look);
          await cancelling;
        }
      }),
    );
  const leaseFor = <T>(reading: Reading | undefined, body: (client: pg.PoolClient) => Promise<T>): Promise<T> =>
    reading === undefined ? lease(body) : leaseForList(reading, body);
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
    run: async (given) => (await query(given, client)).rowCount ?? 0,
  });
  /** A transaction. What it writes last travels together with its COMMIT, which rolls back where any of that failed. */
  const within = <T>(
    begin: string,
    until: number,
    body: (connection: Connection) => Promise<{ readonly value: T; readonly last: readonly Query[] }>,
    reading?: Reading,
  ): Promise<T> =>
    leaseFor(reading, async (client) => {
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
      const once = () => leaseFor(reading, (client) => rowsOf(given, client));
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
    ping: () => watch.check(),
    isSound: async () => true,
    // Autovacuum does it, on whichever server this is.
    optimize: async () => {},
    describe: async () => {
      const [row] = await lease((client) => rowsOf({ sql: 'show server_version', values: [] }, client));
      return `PostgreSQL ${row?.server_version}`;
    },
    close: async () => {
      clearInterval(looking);
      lockWatch.stop();
      await watch.stop();
      await pool.end();
      for (const socket of sockets) socket.destroy();
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

/** Ends a connection whose answer cannot be read, such as a text longer than V8 has any: pg reads in an event, where nobody could catch it. */
function catchReading(client: pg.PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
  for (const read of stream.listeners('data')) {
    stream.off('data', read as (chunk: Buffer) => void);
    stream.on('data', (chunk: Buffer) => {
      try {
        read.call(stream, chunk);
      } catch {
        stream.destroy();
      }
    });
  }
}
