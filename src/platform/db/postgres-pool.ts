import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import type { Reading } from '#src/contract/reading.js';
import { cannotConnect, DatabaseError } from './database-error.js';
import { gone, Lane, laneQueue } from './lane.js';
import { cancel } from './postgres-cancel.js';
import { listenTo } from './postgres-listen.js';
import type { StatementNames } from './postgres-names.js';
import { destroy, ServerWatch } from './postgres-watch.js';

const poolSize = 12;
/** Most connections used by lists, in total and per account. */
const lists = { places: 5, perAccount: 3 } as const;
const acquireMs = 5000;
/** Interval of the check for lists without a waiter. */
const lookMs = 100;
const timeouts = {
  lock_timeout: 3000,
  idle_in_transaction_session_timeout: 15_000,
} as const;
/** Makes sslmode explicit. pg treats these modes as `verify-full` too, but writes a long warning to stderr. */
function withVerification(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

/** Postgres options set by the operator. */
export interface PostgresOptions {
  readonly url: string;
  /** False for poolers that cannot keep prepared statements. */
  readonly prepared: boolean;
  /** Longest run time of a statement, in milliseconds. */
  readonly statementMs: number;
  /** Called when the server becomes unavailable or available again. */
  readonly onChange: (up: boolean, code?: string) => void;
  /** Called when the server becomes read-only, and when it accepts writes again. */
  readonly onWritable: (writable: boolean) => void;
}

/** SQLSTATEs that require preparing a statement again: the schema changed, or the statement is gone. */
export const staleStatement = new Set(['0A000', '26000']);

/** SQLSTATE of a standby, or of a server that its operator made read-only; after a failover another connection finds the primary. */
export const readOnly = '25006';
/** A connection with one of these errors does not return to the pool. */
const endsConnection = new Set([...staleStatement, readOnly]);

type Body<T> = (client: pg.PoolClient) => Promise<T>;

/** The connections of a pool. */
interface Connections {
  readonly pool: pg.Pool;
  /** Each connection with its generation. */
  readonly clients: Map<pg.PoolClient, number>;
  /** Incremented when the server accepts writes again: earlier connections may lead to the read-only server. */
  generation: number;
  /** Rejects the calls that wait for a connection. */
  readonly connecting: Set<(error: DatabaseError) => void>;
}

interface Deps {
  readonly connections: Connections;
  readonly names: Pick<StatementNames, 'isFull'>;
  readonly lane: Lane;
  /** Checks whether each running list still has a waiter; a listener on each request would cost every request. */
  readonly looks: Set<() => void>;
  readonly watch: ServerWatch;
}

/** Opens a pool. While the server is unavailable every call fails at once with `unavailable`, until a probe succeeds. */
export function openPostgresPool(options: PostgresOptions, names: Deps['names']) {
  /** All open sockets. After a failed login pg leaves its socket open, which keeps the process alive. */
  const sockets = new Set<Socket>();
  const settings = settingsOf(options.url, sockets);
  const connections = createConnections({ ...settings, statement_timeout: options.statementMs });
  const looks: Deps['looks'] = new Set();
  const looking = setInterval(() => {
    for (const look of looks) look();
  }, lookMs).unref();
  const watch = new ServerWatch(settings, {
    onChange: (up, code) => {
      if (!up) abandon(connections);
      options.onChange(up, code);
    },
    onWritable: (writable) => {
      if (writable) connections.generation += 1;
      options.onWritable(writable);
    },
    isConnected: () => connections.clients.size > 0,
  });
  const deps: Deps = { connections, names, lane: new Lane({ ...lists, ...laneQueue }), looks, watch };
  const listening: ReturnType<typeof listenTo>[] = [];

  return {
    watch,
    listen: (channel: string, listener: (payload: string | undefined) => void): void => {
      listening.push(listenTo(settings, channel, listener));
    },
    /** Runs the body with a connection. A list uses the quota of its account and is cancelled when its waiter is gone. */
    lease: <T>(reading: Reading | undefined, body: Body<T>): Promise<T> =>
      reading === undefined ? lease(deps, body) : leaseForList(deps, reading, body),
    close: async () => {
      clearInterval(looking);
      await Promise.all([watch.stop(), ...listening.map((one) => one.stop())]);
      await connections.pool.end();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function settingsOf(url: string, sockets: Set<Socket>): pg.ClientConfig {
  return {
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    connectionString: withVerification(url),
    application_name: `svc/${process.pid}`,
    connectionTimeoutMillis: acquireMs,
    // Sends statements together that do not depend on each other.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  };
}

function createConnections(settings: pg.PoolConfig): Connections {
  const pool = new pg.Pool({ ...settings, ...timeouts, max: poolSize, idleTimeoutMillis: 30_000 });
  const connections: Connections = { pool, clients: new Map(), generation: 0, connecting: new Set() };
  pool.on('connect', (client) => {
    connections.clients.set(client, connections.generation);
    // A connection that is lost while leased rejects its query. The event still needs a listener, or it ends the process.
    client.on('error', () => {});
    // Compiling takes longer than these statements do, and ignores time limits.
    client.query('set jit = off').catch(() => {});
    catchReading(client);
  });
  pool.on('remove', (client) => connections.clients.delete(client));
  pool.on('error', () => {});
  return connections;
}

/** Ends the calls of a lost server now, not at some time limit. */
function abandon({ clients, connecting }: Connections): void {
  for (const client of clients.keys()) destroy(client);
  for (const giveUp of connecting) giveUp(new DatabaseError('unavailable', 'away'));
  connecting.clear();
}

async function lease<T>({ connections, names, watch }: Deps, body: Body<T>): Promise<T> {
  watch.requireUp();
  let client: pg.PoolClient;
  try {
    client = await connect(connections);
    while (isOld(connections, client)) {
      client.release(true);
      client = await connect(connections);
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
    client.release(broken || isOld(connections, client) || names.isFull(client));
  }
}

/** Acquires a connection, or rejects as soon as the server is known to be unavailable. A connection that arrives later is discarded. */
function connect({ pool, connecting }: Connections): Promise<pg.PoolClient> {
  return new Promise((resolve, reject) => {
    connecting.add(reject);
    pool.connect().then(
      (client) => (connecting.delete(reject) ? resolve(client) : client.release(true)),
      (error: unknown) => {
        connecting.delete(reject);
        reject(error);
      },
    );
  });
}

function isOld({ clients, generation }: Connections, client: pg.PoolClient): boolean {
  return clients.get(client) !== generation;
}

/**
 * Runs the statements of a list on a connection. When the waiter is gone, or the list's time limit is over, the running statement is
 * cancelled. The connection is kept until the cancellation is complete, because a late one must not hit another caller's statement.
 */
function leaseForList<T>(deps: Deps, reading: Reading, body: Body<T>): Promise<T> {
  const { lane, looks } = deps;
  return lane.use(reading, () =>
    lease(deps, async (client) => {
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
}

/**
 * Closes a connection with unreadable data, such as a text longer than the limit of V8. pg reads in an event handler, whose errors cannot
 * be caught elsewhere.
 */
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
