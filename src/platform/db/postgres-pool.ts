import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import type { Reading } from '#src/contract/reading.js';
import { parsePostgresUrl } from '../config/postgres-url.js';
import { lazy } from '../runtime/lazy.js';
import { cannotConnect, DatabaseError } from './database-error.js';
import { createSlots, gone, type Slots } from './list-slots.js';
import { cancel } from './postgres-cancel.js';
import { listenTo } from './postgres-listen.js';
import type { Preparing, StatementNames } from './postgres-names.js';
import { type Pooled, type Servers, type SessionLimits, setLimits } from './postgres-servers.js';
import { destroy, ServerWatch } from './postgres-watch.js';

/** Share of the places for lists that one account may use. */
const mostOfAccount = 0.6;
const acquireMs = 5000;
/** Interval of the check for lists without a waiter. */
const lookMs = 100;
const limits = {
  lock_timeout: '3s',
  idle_in_transaction_session_timeout: '15s',
  // Compiling takes longer than the statements of the service do, and ignores time limits.
  jit: 'off',
} as const;
/** Makes sslmode explicit. pg treats these modes as `verify-full` too, but writes a long warning to stderr. */
function withVerification(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

/** Postgres options set by the operator. */
export interface PostgresOptions {
  readonly url: string;
  /** A URL past the pooler in `url`, for notifications. */
  readonly listenUrl: string | undefined;
  /** True for a server that only reads. */
  readonly isStandby?: boolean;
  readonly prepared: Preparing;
  /** Most connections. */
  readonly poolSize: number;
  /** Longest run time of a statement, in milliseconds. */
  readonly statementMs: number;
  /** Called when the server becomes unavailable or available again. */
  readonly onChange: (up: boolean, code?: string) => void;
  /** Called when the server becomes read-only, and when it accepts writes again. */
  readonly onWritable: (writable: boolean) => void;
  /** Called when prepared statements are given up, because a pooler mixes them up. */
  readonly onUnprepared: () => void;
}

/** SQLSTATEs of a pooler that shares connections between transactions without keeping track of prepared statements. */
const mixedUp = new Set(['26000', '42P05']);
/** SQLSTATEs that require preparing a statement again: the schema changed, or the statement is gone. */
export const staleStatement = new Set(['0A000', ...mixedUp]);

/** SQLSTATE of a standby, or of a server that its operator made read-only; after a failover another connection finds the primary. */
export const readOnly = '25006';
/** A connection with one of these errors does not return to the pool. */
const endsConnection = new Set([...staleStatement, readOnly]);

type Body<T> = (client: pg.PoolClient) => Promise<T>;

/** The connections of a pool. */
interface Connections {
  readonly pool: pg.Pool;
  readonly clients: Set<pg.PoolClient>;
  /** The generation of each connection. */
  readonly generations: WeakMap<pg.ClientBase, number>;
  /** Incremented when the server accepts writes again, or another is used: earlier connections may lead to the wrong server. */
  generation: number;
  /** Rejects the calls that wait for a connection. */
  readonly connecting: Set<(error: DatabaseError) => void>;
}

interface Deps {
  readonly connections: Connections;
  readonly names: Pick<StatementNames, 'isFull' | 'giveUp'>;
  readonly listSlots: Slots;
  /** Checks whether each running list still has a waiter; a listener on each request would cost every request. */
  readonly looks: Set<() => void>;
  readonly watch: ServerWatch;
  readonly onUnprepared: PostgresOptions['onUnprepared'];
}

/** Most connections for lists, and as many for writers: other reads get the rest. */
export function largestShare(poolSize: number): number {
  return Math.floor((poolSize * 5) / 12);
}

/** The limits of each session, or of each transaction through a pooler. */
export function limitsOf({ statementMs }: Pick<PostgresOptions, 'statementMs'>): SessionLimits {
  return { statement_timeout: `${statementMs}ms`, ...limits };
}

/**
 * Opens a pool. While the server is unavailable every call fails at once with `unavailable`, until a probe succeeds. Of several servers it
 * first looks for one to use.
 */
export async function openPostgresPool(options: PostgresOptions, names: Deps['names'], pooled: Pooled) {
  /** All open sockets. After a failed login pg leaves its socket open, which keeps the process alive. */
  const sockets = new Set<Socket>();
  const servers = serversOf(options);
  const settings = settingsOf(sockets);
  const connections = createConnections(settings, servers, pooled, options);
  const looks: Deps['looks'] = new Set();
  const looking = setInterval(() => {
    for (const look of looks) look();
  }, lookMs).unref();
  const listening: ReturnType<typeof listenTo>[] = [];
  const watch = new ServerWatch(settings, servers, {
    onChange: (up, code) => {
      if (!up) abandon(connections);
      options.onChange(up, code);
    },
    onWritable: (writable) => {
      if (writable) connections.generation += 1;
      options.onWritable(writable);
    },
    onMoved: () => {
      connections.generation += 1;
      abandon(connections);
      for (const one of listening) one.restart();
    },
    isConnected: () => connections.clients.size > 0,
  });
  const places = largestShare(options.poolSize);
  const listSlots = createSlots({ places, perAccount: Math.ceil(places * mostOfAccount) });
  const deps: Deps = { connections, names, listSlots, looks, watch, onUnprepared: options.onUnprepared };
  if (servers.urls.length > 1) await watch.check().catch(() => {});

  return {
    watch,
    listen: (channel: string, listener: (payload: string | undefined) => void): void => {
      const url = () => options.listenUrl ?? servers.current;
      listening.push(listenTo(settings, url, channel, listener));
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

function serversOf({ url, isStandby = false }: PostgresOptions): Servers {
  const { urls, anyServer } = parsePostgresUrl(url) ?? { urls: [url], anyServer: true };
  const verified = urls.map(withVerification);
  return { urls: verified, anyServer: anyServer || isStandby, isStandby, current: verified[0] ?? url };
}

function settingsOf(sockets: Set<Socket>): pg.ClientConfig {
  return {
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    application_name: `svc/${process.pid}`,
    connectionTimeoutMillis: acquireMs,
    // Sends statements together that do not depend on each other.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  };
}

function createConnections(
  settings: pg.PoolConfig,
  servers: Servers,
  pooled: Pooled,
  options: PostgresOptions,
): Connections {
  const generations: Connections['generations'] = new WeakMap();
  class Client extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super({ ...config, connectionString: servers.current });
      generations.set(this, connections.generation);
    }
  }
  const pool = new pg.Pool({
    ...settings,
    Client: Client as unknown as new () => pg.Client,
    max: options.poolSize,
    idleTimeoutMillis: 30_000,
    // The pool waits for it; the types of pg omit that.
    onConnect: async (client) => {
      // A connection that is lost while leased rejects its query. The event still needs a listener, or it ends the process.
      client.on('error', () => {});
      if (!(await setLimits(client, limitsOf(options)))) pooled.add(client);
    },
  });
  const connections: Connections = { pool, clients: new Set(), generations, generation: 0, connecting: new Set() };
  pool.on('connect', (client) => {
    connections.clients.add(client);
    catchReading(client);
  });
  pool.on('remove', (client) => connections.clients.delete(client));
  pool.on('error', () => {});
  return connections;
}

/** Ends the calls of a lost server now, not at some time limit: it may hang. */
function abandon({ clients, connecting }: Connections): void {
  for (const client of clients) destroy(client);
  for (const giveUp of connecting) giveUp(new DatabaseError('unavailable', 'away'));
  connecting.clear();
}

async function lease<T>(deps: Deps, body: Body<T>): Promise<T> {
  const { connections, names, watch } = deps;
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
    if (mixedUp.has(code) && names.giveUp()) deps.onUnprepared();
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

function isOld({ generations, generation }: Connections, client: pg.PoolClient): boolean {
  return generations.get(client) !== generation;
}

/**
 * Runs the statements of a list on a connection. When the waiter is gone, or the list's time limit is over, the running statement is
 * cancelled. The connection is kept until the cancellation is complete, because a late one must not hit another caller's statement.
 */
function leaseForList<T>(deps: Deps, reading: Reading, body: Body<T>): Promise<T> {
  const { listSlots, looks } = deps;
  return listSlots(reading, () =>
    lease(deps, async (client) => {
      if (reading.waiter.isGone) throw gone();
      const cancellation = lazy(() => cancel(client));
      const end = () => void cancellation.get();
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
        if (cancellation.isMade()) await cancellation.get();
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
