import { createHash } from 'node:crypto';
import pg from 'pg';
import { DatabaseError, fromPostgres } from './database-error.js';
import { bulkInserts, type Connection, type Driver } from './driver.js';
import type { Query, Value } from './query.js';
import type { Row } from './table.js';

const poolSize = 10;
const acquireMs = 2000;
/** Most texts that get a name; further ones are sent without, so that a server's memory stays bounded. */
const namedStatements = 500;
const timeouts = {
  statement_timeout: 10_000,
  lock_timeout: 3000,
  idle_in_transaction_session_timeout: 15_000,
} as const;
/** A server that hangs is noticed by a probe: every `everyMs`, given up after `answerMs`. */
const probe = { everyMs: 500, answerMs: 1000 } as const;
/** Keeps other migrating processes out; any number will do as long as it stays. */
const migrationLock = 7_387_201_944;

/** What the operator decides about Postgres. */
interface PostgresOptions {
  readonly url: string;
  /** False for poolers that cannot keep prepared statements. */
  readonly prepared: boolean;
  /** Told when the server goes away or comes back. */
  readonly onChange: (up: boolean) => void;
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

/** Opens a pool; while the server is away every call fails at once with `unavailable`, and a probe notices when it is back. */
export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  const statementName = nameStatements(options.prepared);
  const settings: pg.ClientConfig = {
    connectionString: options.url,
    application_name: `svc/${process.pid}`,
    connectionTimeoutMillis: acquireMs,
    // Statements that do not wait for each other are sent together.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  };
  const pool = new pg.Pool({ ...settings, ...timeouts, max: poolSize, idleTimeoutMillis: 30_000 });
  const clients = new Set<pg.PoolClient>();
  /** Whoever waits for a connection. */
  const connecting = new Set<(error: DatabaseError) => void>();
  pool.on('connect', (client) => {
    clients.add(client);
    // A connection that is lost while leased rejects its query; the event itself needs a listener or ends the process.
    client.on('error', () => {});
  });
  pool.on('remove', (client) => clients.delete(client));
  pool.on('error', () => {});
  const watch = watchServer(settings, (up) => {
    // Whoever waits for an answer of a server that is gone gets an error now, not at some time limit.
    if (!up) {
      for (const client of clients) destroy(client);
      for (const giveUp of connecting) giveUp(new DatabaseError('unavailable', 'away'));
      connecting.clear();
    }
    options.onChange(up);
  });

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
    if (!watch.isUp()) throw new DatabaseError('unavailable', 'away');
    let client: pg.PoolClient;
    try {
      client = await connect();
    } catch (error) {
      watch.suspect();
      throw fromPostgres(error);
    }
    let broken = false;
    try {
      return await body(client);
    } catch (error) {
      broken = error instanceof DatabaseError && (error.kind === 'unavailable' || staleStatement.has(error.code));
      if (broken) watch.suspect();
      throw error;
    } finally {
      client.release(broken);
    }
  };
  const query = async ({ sql, values, texts }: Query, client: pg.PoolClient) => {
    const name = values.length === 0 && sql.length < 20 ? undefined : statementName(sql);
    try {
      // pg takes the values as they are and does not change them; its types want a mutable array.
      return await client.query<Row>({
        text: sql,
        values: values as unknown[],
        ...(name === undefined ? {} : { name }),
        ...(texts ? asTexts : {}),
      });
    } catch (error) {
      throw fromPostgres(error);
    }
  };
  const rowsOf = async (given: Query, client: pg.PoolClient): Promise<Row[]> => {
    const { rows, fields } = await query(given, client);
    return given.texts ? rows.map((row) => named(fields, row as unknown as readonly Value[])) : rows;
  };
  const on = (client: pg.PoolClient): Connection => ({
    all: (given) => rowsOf(given, client),
    run: async (given) => (await query(given, client)).rowCount ?? 0,
  });
  /** A transaction. What it writes last travels together with its COMMIT, which rolls back where any of that failed. */
  const within = <T>(
    begin: string,
    body: (connection: Connection) => Promise<{ readonly value: T; readonly last: readonly Query[] }>,
  ): Promise<T> =>
    lease(async (client) => {
      await query({ sql: begin, values: [] }, client);
      try {
        const { value, last } = await body(on(client));
        const sent = [...last, { sql: 'COMMIT', values: [] }].map((given) => query(given, client));
        await Promise.allSettled(sent);
        const results = await Promise.all(sent);
        // Postgres answers the COMMIT of a failed transaction with ROLLBACK and no error.
        if (results.at(-1)?.command !== 'COMMIT') throw new DatabaseError('other', 'rolled_back');
        return value;
      } catch (error) {
        await query({ sql: 'ROLLBACK', values: [] }, client).catch(() => {});
        throw error;
      }
    });
  const alone = async <T>(value: Promise<T>) => ({ value: await value, last: [] });

  return {
    dialect: 'postgres',
    read: async (given) => {
      const once = () => lease((client) => rowsOf(given, client));
      return once().catch((error: unknown) => {
        if (error instanceof DatabaseError && staleStatement.has(error.code)) return once();
        throw error;
      });
    },
    snapshot: (body) =>
      within('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', (connection) => alone(body(connection))),
    transact: (body) =>
      within('BEGIN', async (connection) => {
        const { value, inserts } = await body(connection);
        return { value, last: bulkInserts('postgres', inserts) };
      }),
    exclusive: (body) =>
      within('BEGIN', async (connection) => {
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
      await watch.stop();
      await pool.end();
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

function nameStatements(prepared: boolean): (sql: string) => string | undefined {
  const names = new Map<string, string>();
  return (sql) => {
    if (!prepared) return undefined;
    const known = names.get(sql);
    if (known !== undefined || names.size >= namedStatements) return known;
    const name = createHash('sha256').update(sql).digest('base64url').slice(0, 20);
    names.set(sql, name);
    return name;
  };
}

/** Cuts a connection without a goodbye, which a hanging server would not read. */
function destroy(client: pg.Client | pg.PoolClient): void {
  // pg has no public way to do this; `connection.stream` is the socket.
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}

/** Asks the server on a connection of its own whether it still answers. */
function watchServer(settings: pg.ClientConfig, onChange: (up: boolean) => void) {
  let up = true;
  let stopped = false;
  let client: pg.Client | undefined;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const ask = async (): Promise<void> => {
    const asked =
      client ??
      new pg.Client({
        ...settings,
        connectionTimeoutMillis: probe.answerMs,
        application_name: `svc/${process.pid} probe`,
      });
    try {
      if (client === undefined) {
        asked.on('error', () => {});
        await asked.connect();
        client = asked;
      }
      await answerInTime(asked.query('select 1'));
      if (!up) onChange(true);
      up = true;
    } catch {
      client = undefined;
      destroy(asked);
      if (up && !stopped) onChange(false);
      up = false;
    }
  };
  const check = (): Promise<void> => {
    running ??= ask().finally(() => {
      running = undefined;
    });
    return running;
  };
  const schedule = () => {
    timer = setTimeout(() => void check().finally(() => stopped || schedule()), probe.everyMs).unref();
  };
  schedule();
  return {
    isUp: () => up,
    /** A query failed on its connection: look now instead of at the next turn. */
    suspect: () => {
      // After the end it would open a connection that nobody closes, and the process would stay.
      if (!stopped) void check();
    },
    check: async () => {
      await check();
      if (!up) throw new DatabaseError('unavailable', 'away');
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
      await client?.end().catch(() => {});
    },
  };
}

/** Rejects when there is no answer in time; a busy event loop gets one turn to read an answer that has arrived meanwhile. */
function answerInTime(answer: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new DatabaseError('unavailable', 'no_answer'));
    const timer = setTimeout(() => setImmediate(() => setTimeout(late, 1)), probe.answerMs);
    answer.then(
      () => {
        clearTimeout(timer);
        resolve();
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(fromPostgres(error));
      },
    );
  });
}
