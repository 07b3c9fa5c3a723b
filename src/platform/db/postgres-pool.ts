import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import type { Reading } from '#src/contract/reading.js';
import { cannotConnect, DatabaseError } from './database-error.js';
import { gone, Lane, laneQueue } from './lane.js';
import { cancel } from './postgres-cancel.js';
import { listenTo } from './postgres-listen.js';
import type { StatementNames } from './postgres-names.js';
import { destroy, watchServer } from './postgres-watch.js';

const poolSize = 12;
/** Of those, how many lists have at once, and how many of them an account. */
const lists = { places: 5, perAccount: 3 } as const;
const acquireMs = 2000;
/** How often it looks for lists that nobody waits for any more. */
const lookMs = 100;
const timeouts = {
  lock_timeout: 3000,
  idle_in_transaction_session_timeout: 15_000,
} as const;
/** pg takes these modes for `verify-full` as well, and writes a long warning on stderr about it. */
function withVerification(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

/** What the operator decides about Postgres. */
export interface PostgresOptions {
  readonly url: string;
  /** False for poolers that cannot keep prepared statements. */
  readonly prepared: boolean;
  /** For how long a statement may run, in milliseconds. */
  readonly statementMs: number;
  /** Told when the server goes away or comes back. */
  readonly onChange: (up: boolean, code?: string) => void;
  /** Told when the server is found to be read-only, and when it takes writes. */
  readonly onWritable: (writable: boolean) => void;
}

/** SQLSTATEs after which a prepared statement has to be made anew: the schema changed, or the statement is gone. */
export const staleStatement = new Set(['0A000', '26000']);

/** A standby, or a server that its operator made read-only: after a failover another connection finds the primary. */
export const readOnly = '25006';
/** After these a connection does not go back to the pool. */
const endsConnection = new Set([...staleStatement, readOnly]);

/** Opens a pool; while the server is away every call fails at once with `unavailable`, and a probe notices when it is back. */
export function openPostgresPool(options: PostgresOptions, names: Pick<StatementNames, 'isFull'>) {
  /** pg leaves a socket open where it cannot log in, and with it the process. */
  const sockets = new Set<Socket>();
  const settings: pg.ClientConfig = {
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    connectionString: withVerification(options.url),
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
  /** Rejects the calls that wait for a connection. */
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
    onChange: (up, code) => {
      // Calls that wait for a server that is gone fail now, not at some time limit.
      if (!up) {
        for (const client of clients.keys()) destroy(client);
        for (const giveUp of connecting) giveUp(new DatabaseError('unavailable', 'away'));
        connecting.clear();
      }
      options.onChange(up, code);
    },
    onWritable: (writable) => {
      if (writable) generation += 1;
      options.onWritable(writable);
    },
    isConnected: () => clients.size > 0,
  });
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

  const listening: ReturnType<typeof listenTo>[] = [];

  return {
    watch,
    listen: (channel: string, listener: (payload: string | undefined) => void): void => {
      listening.push(listenTo(settings, channel, listener));
    },
    /** Runs the body with a connection; for a list in the share of its account, and only while somebody waits for it. */
    lease: <T>(reading: Reading | undefined, body: (client: pg.PoolClient) => Promise<T>): Promise<T> =>
      reading === undefined ? lease(body) : leaseForList(reading, body),
    close: async () => {
      clearInterval(looking);
      await Promise.all([watch.stop(), ...listening.map((one) => one.stop())]);
      await pool.end();
      for (const socket of sockets) socket.destroy();
    },
  };
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
