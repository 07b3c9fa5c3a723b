import pg from 'pg';
import { createSingleFlight } from '../runtime/single-flight.js';
import { cannotConnect, DatabaseError, fromPostgres } from './database-error.js';
import type { Servers } from './postgres-servers.js';

/** A probe detects a server that hangs. It runs every `everyMs`; two in a row that take longer than `answerMs` count as a failure. */
const probe = { everyMs: 500, answerMs: 1000 } as const;

/** Codes of a server that is running but refuses new connections. */
const refusesNewcomers = ['53300', '28P01', '28000', '3D000'];

/** Result of a probe. `readOnly`: a standby, or `default_transaction_read_only`. */
interface Seen {
  readonly readOnly: boolean;
}

interface Probe {
  readonly url: string;
  readonly client: pg.Client;
  readonly answer: Promise<Seen>;
}

interface Answer {
  readonly one: Probe;
  readonly what: Seen;
}

/** Callbacks of the pool's owner. */
interface Listener {
  /** `code` is the reason of the failure. */
  onChange(up: boolean, code?: string): void;
  /** The server became read-only, or accepts writes again: earlier connections may lead to another server. */
  onWritable(writable: boolean): void;
  /** Another of the servers named by the URL is in use. */
  onMoved(): void;
  /** True if the pool has working connections. */
  isConnected(): boolean;
}

/** Probes on its own connection whether the server responds and accepts writes. */
export class ServerWatch {
  readonly #settings: pg.ClientConfig;
  readonly #servers: Servers;
  readonly #listener: Listener;
  #away: DatabaseError | undefined;
  #writable = true;
  /** A connection reported read-only; the next probe decides which connections to keep. */
  #doubted = false;
  #stopped = false;
  #client: pg.Client | undefined;
  readonly #shared = createSingleFlight<void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: pg.ClientConfig, servers: Servers, listener: Listener) {
    this.#settings = settings;
    this.#servers = servers;
    this.#listener = listener;
    this.#schedule();
  }

  /** Throws DatabaseError, with the reason, while the server is known to be unavailable. */
  requireUp(): void {
    if (this.#away !== undefined) throw new DatabaseError('unavailable', this.#away.code);
  }

  isWritable(): boolean {
    return this.#writable;
  }

  /** Reports a failed query. Probes now instead of at the next turn; if `anew` is true, on a new connection. */
  suspect(anew = false): void {
    if (anew) this.#doubted = true;
    // After `stop` it would open a connection that is never closed and keeps the process alive.
    if (!this.#stopped) void this.#look();
  }

  /** Sends a query outside the pool; does nothing without a connection. */
  async ask(text: string, values: readonly unknown[]): Promise<void> {
    await this.#client?.query(text, [...values]);
  }

  /** Probes, and throws DatabaseError if the server is unavailable. */
  async check(): Promise<void> {
    await this.#look();
    this.requireUp();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    // Joins a running probe, without starting one.
    await this.#shared(async () => {});
    await this.#client?.end().catch(() => {});
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      void this.#look().finally(() => this.#stopped || this.#schedule());
    }, probe.everyMs).unref();
  }

  /** Probes once; calls during a probe share its end. */
  #look(): Promise<void> {
    return this.#shared(() => this.#probe());
  }

  async #probe(): Promise<void> {
    const anew = this.#doubted;
    this.#doubted = false;
    if (anew) this.#leave();
    const { current, anyServer } = this.#servers;
    const isSettled = this.#client !== undefined || (anyServer && this.#away === undefined);
    const probes = isSettled ? [this.#ask(current, this.#client)] : this.#askAll();
    try {
      await this.#answered(probes, anew);
    } catch (first) {
      // One slow response may be caused by the network or by this process. Another connection is tried before all others are destroyed.
      if (this.#away !== undefined || this.#stopped) return this.#lost(probes, first);
      probes.push(...this.#askAll());
      await this.#answered(probes, anew).catch((second: unknown) => this.#lost(probes, second));
    }
  }

  #askAll(): Probe[] {
    return this.#servers.urls.map((url) => this.#ask(url));
  }

  #ask(url: string, connected?: pg.Client): Probe {
    return sendProbe({ ...this.#settings, connectionString: url }, url, connected);
  }

  #leave(): void {
    this.#client?.end().catch(() => {});
    this.#client = undefined;
  }

  /** Uses the first response of a server that accepts writes, else the first of all, and destroys the other probes. */
  async #answered(all: readonly Probe[], anew: boolean): Promise<void> {
    let first = undefined as Answer | undefined;
    const usable = all.map(async (one): Promise<Answer> => {
      const answer = { one, what: await one.answer };
      first ??= answer;
      if (answer.what.readOnly && !this.#servers.anyServer) throw new DatabaseError('notWritable', '25006');
      return answer;
    });
    const { one, what } = await answerInTime(Promise.any(usable)).catch((error: unknown) => {
      if (first === undefined) throw error;
      return first;
    });
    for (const { client: other } of all) if (other !== one.client) destroy(other);
    this.#client = one.client;
    const moved = one.url !== this.#servers.current;
    this.#servers.current = one.url;
    if (moved) this.#listener.onMoved();
    this.#seen(what, anew);
  }

  #seen(what: Seen, anew: boolean): void {
    const readOnly = what.readOnly && !this.#servers.isStandby;
    // The next connection may reach another server.
    if (readOnly) this.#leave();
    if (this.#away !== undefined) {
      this.#away = undefined;
      this.#listener.onChange(true);
    }
    const isNews = this.#writable === readOnly || (anew && !readOnly);
    this.#writable = !readOnly;
    if (isNews) this.#listener.onWritable(this.#writable);
  }

  #lost(probes: readonly Probe[], thrown: unknown): void {
    this.#client = undefined;
    for (const { client } of probes) destroy(client);
    const error = reasonOf(thrown);
    if (refusesNewcomers.includes(error.code) && this.#listener.isConnected()) return;
    const isNews = this.#away === undefined && !this.#stopped;
    this.#away = error;
    if (isNews) this.#listener.onChange(false, error.code);
  }
}

function sendProbe(settings: pg.ClientConfig, url: string, connected?: pg.Client): Probe {
  const client = connected ?? createProbe(settings);
  const query = async (): Promise<Seen> => {
    if (connected === undefined) await client.connect().catch((error: unknown) => Promise.reject(cannotConnect(error)));
    const { rows } = await client.query("select current_setting('transaction_read_only') as read_only");
    return { readOnly: rows[0]?.read_only === 'on' };
  };
  return { url, client, answer: query() };
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

/** If several probes failed, the last one gives the reason. */
function reasonOf(thrown: unknown): DatabaseError {
  return fromPostgres(thrown instanceof AggregateError ? thrown.errors.at(-1) : thrown);
}

/** Closes a connection without a terminate message, which a hanging server would not read. */
export function destroy(client: pg.Client | pg.PoolClient): void {
  // pg has no public way to do this; `connection.stream` is the socket.
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}

/** Rejects without a response in time. A busy event loop gets one more turn to read a response that has already arrived. */
function answerInTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new DatabaseError('unavailable', 'no_answer'));
    const timer = setTimeout(() => setImmediate(() => setTimeout(late, 1)), probe.answerMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
