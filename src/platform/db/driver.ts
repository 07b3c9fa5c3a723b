import type { Reading } from '#src/contract/reading.js';
import { toArrays, unnested } from './arrays.js';
import type { DialectName } from './dialect-words.js';
import type { Bound, Query, Value } from './query.js';
import type { Row } from './table.js';

/** One connection, one statement at a time. */
export interface Connection {
  all(query: Query): Promise<Row[]>;
  /** Runs statements in order. None may need the result of another; Postgres gets them in one round trip. */
  together(queries: readonly Query[]): Promise<Row[][]>;
  /** Runs a statement and returns the number of rows it changed. */
  run(query: Query): Promise<number>;
}

/** Rows of a unit of work that are inserted right before the commit. A whole group uses one statement. */
export interface Insert {
  readonly table: string;
  readonly columns: readonly string[];
  /** Columns of integers; the others are text. */
  readonly numbers?: ReadonlySet<string> | undefined;
  readonly rows: readonly (readonly Value[])[];
}

/** The body of a transaction: its result and the rows to write before the commit. */
export type TransactionBody<T> = (
  connection: Connection,
) => Promise<{ readonly value: T; readonly inserts: readonly Insert[] }>;

/** The interface of both databases. Every method throws DatabaseError, and any error of the given functions. */
export interface Driver {
  readonly dialect: DialectName;
  /** Runs one statement in its own snapshot. With a `reading` it uses one of the slots for lists. */
  read(query: Query, reading?: Reading): Promise<Row[]>;
  /** Runs several reads in one snapshot; uses the slots in the same way. */
  snapshot<T>(body: (connection: Connection) => Promise<T>, reading?: Reading): Promise<T>;
  /**
   * Runs a transaction and resolves only after the commit is on disk. It waits for connections and locks until `until`, on the clock of
   * `performance`.
   */
  transact<T>(body: TransactionBody<T>, until: number): Promise<T>;
  /** A transaction without time limits that excludes every other process of this service; for migrations. */
  exclusive<T>(body: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Calls the listener with the notifications of other processes on a channel, and with undefined if some may have been missed. A database
   * without notifications never calls it.
   */
  listen(channel: string, listener: (payload: string | undefined) => void): void;
  /** False if `listen` never calls: SQLite, and a connection pooler without `SVC_DATABASE_LISTEN_URL`. */
  notifies(): boolean;
  /** Resolves while the database responds. */
  ping(): Promise<void>;
  /** True if the database file is undamaged. Always true for a database server, which checks its own files. */
  isSound(): Promise<boolean>;
  /** Refreshes the statistics of the query planner. */
  optimize(): Promise<void>;
  /**
   * Removes all traces of deleted or changed rows of these tables. SQLite rewrites its whole file and empties its log while writers wait;
   * Postgres vacuums the tables. Throws DatabaseError.
   */
  scrub(tables: readonly string[]): Promise<void>;
  /** The clock of the database server, in milliseconds since 1970; undefined if the database is a file. */
  serverTime(): Promise<number | undefined>;
  /** Name and version of the server, for the start-up log. */
  describe(): Promise<string>;
  close(): Promise<void>;
}

/** Merges the inserts of several units into one entry per table, sorted by name, so that the statement texts stay the same. */
function mergeInserts(inserts: readonly Insert[]): Insert[] {
  const byTable = new Map<string, Insert & { rows: (readonly Value[])[] }>();
  for (const insert of inserts) {
    const merged = byTable.get(insert.table);
    if (merged === undefined) byTable.set(insert.table, { ...insert, rows: [...insert.rows] });
    else merged.rows.push(...insert.rows);
  }
  return [...byTable.values()].sort((a, b) => (a.table < b.table ? -1 : 1));
}

/**
 * Inserts any number of rows with constant texts, which stay prepared. SQLite gets one statement per table, with all rows as one value.
 * Postgres gets one statement for all tables, because each is a round trip, with one value per column.
 */
export function bulkInserts(dialect: DialectName, inserts: readonly Insert[]): Query[] {
  const merged = mergeInserts(inserts);
  const insertInto = ({ table, columns }: Insert) => `insert into ${table} (${columns.join(', ')})`;
  if (dialect === 'sqlite')
    return merged.map((insert) => {
      const picked = insert.columns.map((_, at) => `json_extract(value, '$[${at}]')`);
      return {
        sql: `${insertInto(insert)} select ${picked.join(', ')} from json_each(?)`,
        values: [JSON.stringify(insert.rows)],
      };
    });
  const values: Bound[] = [];
  const texts = merged.map((insert) => {
    const columns = insert.columns.map((name) => {
      const type = insert.numbers?.has(name) ? 'bigint' : 'text';
      return { name, type } as const;
    });
    const before = values.length;
    values.push(...toArrays(columns, insert.rows));
    return `${insertInto(insert)} select * from ${unnested(columns, (at) => `$${before + at + 1}`)}`;
  });
  const last = texts.pop();
  if (last === undefined) return [];
  const others = texts.map((text, index) => `i${index} as (${text})`);
  return [{ sql: others.length === 0 ? last : `with ${others.join(', ')} ${last}`, values }];
}
