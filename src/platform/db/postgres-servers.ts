import pg from 'pg';

/** The servers that the database URL names, of which one is in use. */
export interface Servers {
  readonly urls: readonly string[];
  /** True if the service may use a server that refuses writes although another may accept them. */
  readonly anyServer: boolean;
  /** True if the server is meant to refuse writes. */
  readonly isStandby: boolean;
  /** The URL of the server that new connections lead to. */
  current: string;
}

/** Limits of a session or transaction, as names and values of Postgres settings. */
export type SessionLimits = Readonly<Record<string, string>>;

/**
 * Sets the limits for the session of a new connection, and returns false if a pooler is in between: the server process is then another
 * than the login named, and may serve another connection next. Startup parameters would be refused by poolers.
 */
export async function setLimits(client: pg.ClientBase, limits: SessionLimits): Promise<boolean> {
  const set = Object.entries(limits).map(
    ([name, value]) => `set_config(${pg.escapeLiteral(name)}, ${pg.escapeLiteral(value)}, false)`,
  );
  const { rows } = await client.query(`select ${set.join(', ')} where pg_backend_pid() = ${processIdOf(client)}`);
  return rows.length > 0;
}

/** Statements for the beginning of a transaction through a pooler: its limits, and the server process that runs it. */
export function beginWithin(begin: string, limits: SessionLimits): string {
  const set = Object.entries(limits).map(([name, value]) => `SET LOCAL ${name} = ${pg.escapeLiteral(value)}`);
  return [begin, ...set, 'SELECT pg_backend_pid() AS pid'].join('; ');
}

/** The server process of a connection as the login named it, also in `pg_stat_activity` unless a pooler is in between. */
export function processIdOf(client: pg.ClientBase): number {
  // The types of pg omit this property.
  return (client as unknown as { processID?: number | null }).processID ?? 0;
}

/** The connections that lead through a pooler. */
export class Pooled {
  readonly #clients = new WeakSet<pg.ClientBase>();
  #any = false;

  add(client: pg.ClientBase): void {
    this.#clients.add(client);
    this.#any = true;
  }

  has(client: pg.ClientBase): boolean {
    return this.#clients.has(client);
  }

  /** True if there was one. */
  get any(): boolean {
    return this.#any;
  }
}
