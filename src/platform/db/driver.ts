import type { Reading } from '#src/contract/reading.js';
import { toArrays, unnested } from './arrays.js';
import type { Bound, DialectName, Query, Value } from './query.js';
import type { Row } from './table.js';

/** One connection, one statement at a time. */
export interface Connection {
  all(query: Query): Promise<Row[]>;
  /** Runs statements one after the other, none of which needs what another returns; Postgres gets them in one round trip. */
  together(queries: readonly Query[]): Promise<Row[][]>;
  /** Runs a statement and returns how many rows it changed. */
  run(query: Query): Promise<number>;
}

/** Rows that a unit of work leaves to be written right before its commit, a whole group in one statement. */
export interface Insert {
  readonly table: string;
  readonly columns: readonly string[];
  /** Columns of whole numbers; the others are text. */
  readonly numbers?: ReadonlySet<string> | undefined;
  readonly rows: readonly (readonly Value[])[];
}

/** The body of a transaction: its result and the rows to write before the commit. */
export type Transaction<T> = (
  connection: Connection,
) => Promise<{ readonly value: T; readonly inserts: readonly Insert[] }>;

/** What both databases can do. Every method throws DatabaseError, and whatever the given functions throw. */
export interface Driver {
  readonly dialect: DialectName;
  /** One statement in a snapshot of its own; a list takes one of the places of lists. */
  read(query: Query, reading?: Reading): Promise<Row[]>;
  /** Several reads of one state of the database, likewise. */
  snapshot<T>(body: (connection: Connection) => Promise<T>, reading?: Reading): Promise<T>;
  /** A transaction; resolved only after the commit is on disk. It waits for connections and locks until then, on the clock of `performance`. */
  transact<T>(body: Transaction<T>, until: number): Promise<T>;
  /** A transaction without time limits that keeps every other process of ours out; for migrations. */
  exclusive<T>(body: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Calls the listener with what other processes notify on a channel, and with nothing where some of it may have been missed. A database
   * without notifications never calls it.
   */
  listen(channel: string, listener: (payload: string | undefined) => void): void;
  /** Resolves while the database answers. */
  ping(): Promise<void>;
  /** Whether the file of the database is undamaged; a database that is a server looks after itself. */
  isSound(): Promise<boolean>;
  /** Refreshes what the query planner knows of the tables. */
  optimize(): Promise<void>;
  /**
   * Leaves nothing of rows that were deleted or changed in these tables. SQLite rewrites its whole file and empties its log, while writers wait;
   * Postgres vacuums the tables. Throws DatabaseError.
   */
  scrub(tables: readonly string[]): Promise<void>;
  /** The clock of the database's server, in milliseconds since 1970; undefined where the database is a file. */
  serverTime(): Promise<number | undefined>;
  /** Words about the server for the start-up log. */
  describe(): Promise<string>;
  close(): Promise<void>;
}

/** Joins the inserts of several units, one entry a table, in the order of the names: so the texts of statements stay the same. */
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
 * Inserts of any number of rows, whose texts stay the same and prepared. SQLite takes a statement for each table, with
 * all rows as one value; Postgres takes one statement for all tables, as each is a round trip, with a value for each column.
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
