import pg from 'pg';
import { cannotConnect, DatabaseError, fromPostgres } from './database-error.js';

/** A server that hangs is noticed by a probe: every `everyMs`; two in a row that take over `answerMs` are one too many. */
const probe = { everyMs: 500, answerMs: 1000 } as const;

/** Codes of a server that is there and lets nobody new in. */
const refusesNewcomers = ['53300', '28P01', '28000', '3D000'];

/** What a probe sees. `readOnly`: a standby, or `default_transaction_read_only`. */
interface Seen {
  readonly readOnly: boolean;
}

interface Probe {
  readonly client: pg.Client;
  readonly answer: Promise<Seen>;
}

/** What the owner of the pool is told. */
interface Listener {
  /** `code` says why it does not answer. */
  onChange(up: boolean, code?: string): void;
  /** The server became read-only, or takes writes: a connection from before may lead to another server. */
  onWritable(writable: boolean): void;
  /** Whether the pool has connections that work. */
  isConnected(): boolean;
}

/** What is known of the server. */
interface ServerWatch {
  /** Throws DatabaseError, with the reason, while the server is known to be away. */
  demandUp(): void;
  isWritable(): boolean;
  /** A query failed on its connection: looks now instead of at the next turn. `anew`: on a connection of its own. */
  suspect(anew?: boolean): void;
  /** Asks the server something beside the pool; nothing while there is no connection. */
  ask(text: string, values: readonly unknown[]): Promise<void>;
  /** Looks, and throws DatabaseError where the server is away. */
  check(): Promise<void>;
  stop(): Promise<void>;
}

/** Asks the server on a connection of its own whether it still answers, and whether it takes writes. */
export function watchServer(settings: pg.ClientConfig, listener: Listener): ServerWatch {
  let away: DatabaseError | undefined;
  let writable = true;
  /** A connection said read-only: the next answer says which connections are worth keeping. */
  let doubted = false;
  let stopped = false;
  let client: pg.Client | undefined;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const sendProbe = (connected?: pg.Client): Probe => {
    const probe = connected ?? createProbe(settings);
    const query = async (): Promise<Seen> => {
      if (connected === undefined)
        await probe.connect().catch((error: unknown) => Promise.reject(cannotConnect(error)));
      const { rows } = await probe.query("select current_setting('transaction_read_only') as read_only");
      return { readOnly: rows[0]?.read_only === 'on' };
    };
    return { client: probe, answer: query() };
  };
  const leave = (): void => {
    client?.end().catch(() => {});
    client = undefined;
  };
  const seen = ({ readOnly }: Seen, anew: boolean): void => {
    // The next connection may find another server.
    if (readOnly) leave();
    if (away !== undefined) {
      away = undefined;
      listener.onChange(true);
    }
    const isNews = writable === readOnly || (anew && !readOnly);
    writable = !readOnly;
    if (isNews) listener.onWritable(writable);
  };
  /** Takes the first answer; the others are cut. */
  const answered = async (all: readonly Probe[], anew: boolean): Promise<void> => {
    const answers = all.map(async (one) => ({ one, what: await one.answer }));
    const { one, what } = await answerInTime(Promise.any(answers));
    for (const { client: other } of all) if (other !== one.client) destroy(other);
    client = one.client;
    seen(what, anew);
  };
  const look = async (): Promise<void> => {
    const anew = doubted;
    doubted = false;
    if (anew) leave();
    const probes = [sendProbe(client)];
    try {
      await answered(probes, anew);
    } catch (first) {
      // One slow answer may be the network's or our own; another connection is asked before those of all others are cut.
      if (away !== undefined || stopped) return lost(probes, first);
      probes.push(sendProbe());
      await answered(probes, anew).catch((second: unknown) => lost(probes, second));
    }
  };
  const lost = (probes: readonly Probe[], thrown: unknown): void => {
    client = undefined;
    for (const { client: one } of probes) destroy(one);
    const error = reasonOf(thrown);
    if (refusesNewcomers.includes(error.code) && listener.isConnected()) return;
    const isNews = away === undefined && !stopped;
    away = error;
    if (isNews) listener.onChange(false, error.code);
  };
  const check = (): Promise<void> => {
    running ??= look().finally(() => {
      running = undefined;
    });
    return running;
  };
  const schedule = () => {
    timer = setTimeout(() => void check().finally(() => stopped || schedule()), probe.everyMs).unref();
  };
  schedule();
  const demandUp = (): void => {
    if (away !== undefined) throw new DatabaseError('unavailable', away.code);
  };
  return {
    demandUp,
    isWritable: () => writable,
    suspect: (anew = false) => {
      if (anew) doubted = true;
      // After the end it would open a connection that nobody closes, and the process would stay.
      if (!stopped) void check();
    },
    ask: async (text, values) => void (await client?.query(text, [...values])),
    check: async () => {
      await check();
      demandUp();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
      await client?.end().catch(() => {});
    },
  };
}

function createProbe(settings: pg.ClientConfig): pg.Client {
  const client = new pg.Client({
    ...settings,
    connectionTimeoutMillis: 2 * probe.answerMs,
    application_name: `svc/${process.pid} probe`,
  });
  client.on('error', () => {});
  return client;
}

/** Of several probes that failed the last one says why. */
function reasonOf(thrown: unknown): DatabaseError {
  return fromPostgres(thrown instanceof AggregateError ? thrown.errors.at(-1) : thrown);
}

/** Cuts a connection without a goodbye, which a hanging server would not read. */
export function destroy(client: pg.Client | pg.PoolClient): void {
  // pg has no public way to do this; `connection.stream` is the socket.
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}

/** Rejects when there is no answer in time; a busy event loop gets one turn to read an answer that has arrived meanwhile. */
function answerInTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new DatabaseError('unavailable', 'no_answer'));
    const timer = setTimeout(() => setImmediate(() => setTimeout(late, 1)), probe.answerMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
