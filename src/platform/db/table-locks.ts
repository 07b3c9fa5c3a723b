import { DatabaseError } from './database-error.js';
import { type Query, type Sql, statement } from './query.js';
import { raw } from './template.js';
import type { Reader, Unit } from './unit.js';

/** A database of a project. Its collections can be related to each other. */
export interface DatabaseOfProject {
  readonly projectId: string;
  readonly databaseId: string;
}

/** Locks for the tables of documents. Multi-table requests and schema changes exclude each other before taking table locks. */
export interface TableLocks {
  /** Called before a unit or snapshot uses tables of several collections. Blocks schema changes of several collections until it ends. */
  use(reader: Reader, databases: readonly DatabaseOfProject[]): Promise<void>;
  /**
   * Called first in a unit that writes several documents, or links between documents. Blocks other such units of these databases until it
   * ends, so that they need no order of their row locks. Includes `use`.
   */
  write(unit: Unit, databases: readonly DatabaseOfProject[]): Promise<void>;
  /** Called before a unit changes several tables. Blocks all users of these tables until the unit ends. */
  lock(unit: Unit, databases: readonly DatabaseOfProject[], tables: readonly string[]): Promise<void>;
  /** Called before a unit changes the table of one collection, and tables that only it writes. Does not block users of several tables. */
  lockOne(unit: Unit, tables: readonly string[], against: LockedOut): Promise<void>;
}

/** The other users that a table lock excludes: all, writers, or writers and schema changes. */
export type LockedOut = keyof typeof modes;

const modes = {
  everybody: 'access exclusive',
  writers: 'share',
  writersAndChanges: 'share row exclusive',
} as const;

/** Wait of one attempt for a lock. It doubles with each attempt and stays below the deadlock timeout of Postgres. */
const waitsMs = { first: 200, longest: 600 } as const;
/**
 * Wait for a vacuum of the table. Postgres cancels a blocking autovacuum only when it checks for deadlocks, by default after one second.
 */
const vacuumMs = 1300;
/** No further attempt starts after this time; a unit may run a little longer. */
const longestMs = 8000;
const nothing = async () => {};

/** SQLSTATE for a lock that was not available in time. */
const notInTime = '55P03';

/**
 * Creates the locks for the tables of related collections. Requests use tables in any order, so no lock order avoids deadlocks. Therefore a
 * user of several tables takes a shared advisory lock of the database, and a change of several tables takes it exclusively, before any
 * table lock. A change waits only briefly at a time and then pauses as long, so that one slow list does not block all other requests.
 * SQLite has one writer at a time and needs no locks.
 */
export function createTableLocks(sql: Sql): TableLocks {
  if (sql.facts.hasOneWriter) return { use: nothing, write: nothing, lock: nothing, lockOne: nothing };
  const attempt = async (unit: Unit, locks: readonly Query[], waitMs: number): Promise<boolean> => {
    const wait = sql`select set_config('lock_timeout', ${`${waitMs}ms`}, true)`;
    try {
      await unit.together([statement('savepoint tables'), wait, ...locks]);
    } catch (error) {
      if (!(error instanceof DatabaseError && error.code === notInTime)) throw error;
      await unit.run(statement('rollback to savepoint tables'));
      return false;
    }
    await unit.together([statement('set local lock_timeout to default'), statement('release savepoint tables')]);
    return true;
  };
  /** True if a vacuum, or another holder of its lock mode, works on one of the tables. Pauses first, so that other requests can proceed. */
  const isVacuumed = async (unit: Unit, tables: readonly string[], waitMs: number): Promise<boolean> => {
    const pause = sql`select pg_sleep(cast(${waitMs} as double precision) / 1000)`;
    const vacuums = sql`
      select 1 as one from pg_locks where mode = 'ShareUpdateExclusiveLock' and granted
        and relation = any(cast(cast(${tables} as text[]) as regclass[])) limit 1`;
    const [, found = []] = await unit.together([pause, vacuums]);
    return found.length > 0;
  };
  const lockAll = async (
    unit: Unit,
    given: readonly string[],
    against: LockedOut,
    before: readonly Query[] = [],
  ): Promise<void> => {
    const tables = [...new Set(given)];
    const locks = [...before, statement(`lock table ${tables.join(', ')} in ${modes[against]} mode`)];
    const started = performance.now();
    let isInVacuum = false;
    for (let waitMs: number = waitsMs.first; ; waitMs = Math.min(2 * waitMs, waitsMs.longest)) {
      if (await attempt(unit, locks, isInVacuum ? vacuumMs : waitMs)) return;
      if (performance.now() - started > longestMs) throw new DatabaseError('conflict', notInTime);
      isInVacuum = await isVacuumed(unit, tables, waitMs);
    }
  };
  return {
    use: async (reader, databases) => {
      if (databases.length > 0) await reader.all(ofDatabases(sql, 'tables', databases, '_shared'));
    },
    write: async (unit, databases) => {
      if (databases.length === 0) return;
      // The second lock would block schema changes while the unit waits for the first.
      await unit.together([ofDatabases(sql, 'writes', databases), ofDatabases(sql, 'tables', databases, '_shared')]);
    },
    lock: (unit, databases, tables) => lockAll(unit, tables, 'everybody', [ofDatabases(sql, 'tables', databases)]),
    lockOne: (unit, tables, against) => lockAll(unit, tables, against),
  };
}

/** Takes an advisory lock of each database, in one order. */
function ofDatabases(
  sql: Sql,
  what: 'tables' | 'writes',
  databases: readonly DatabaseOfProject[],
  mode: '' | '_shared' = '',
): Query {
  const names = databases.map(({ projectId, databaseId }) => `${what} ${projectId}/${databaseId}`);
  return sql`
    select pg_advisory_xact_lock${raw(mode)}(place) from (
      select distinct hashtextextended(value, 0) as place from unnest(cast(${names} as text[])) as given(value)
      order by place) as places`;
}
