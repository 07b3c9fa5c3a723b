import { DatabaseError } from './database-error.js';
import type { Query, Sql } from './query.js';
import type { Reader, Unit } from './unit.js';

/** A database of a project, whose collections can be related to each other. */
export interface DatabaseOfProject {
  readonly projectId: string;
  readonly databaseId: string;
}

/** Who uses several tables of documents, and who changes the tables, wait for each other before either locks any of them. */
export interface TableLocks {
  /** Before a unit or a snapshot uses tables of several collections: no schema change that concerns several is under way until it ends. */
  use(reader: Reader, databases: readonly DatabaseOfProject[]): Promise<void>;
  /** Before a unit changes several tables: nobody uses them until it ends. */
  lock(unit: Unit, databases: readonly DatabaseOfProject[], tables: readonly string[]): Promise<void>;
  /** Before a unit changes the table of one collection, and those that only it writes: who uses several tables does not wait for it. */
  lockOne(unit: Unit, tables: readonly string[], against: LockedOut): Promise<void>;
}

/** Whom the lock of a table keeps out: everybody, those who write, or those who write and other changes of the schema. */
export type LockedOut = keyof typeof modes;

const modes = {
  everybody: 'access exclusive',
  writers: 'share',
  writersAndChanges: 'share row exclusive',
} as const;

/** How long one attempt waits for a lock: longer from attempt to attempt, and shorter than Postgres takes to look for a deadlock. */
const waitsMs = { first: 200, longest: 600 } as const;
/**
 * How long it waits for the vacuum of a table: Postgres ends an autovacuum that is in somebody's way once it looks for a deadlock, by default after
 * a second, and not before.
 */
const vacuumMs = 1300;
/** After this time there is no other attempt; a unit has a little longer. */
const longestMs = 8000;
/** What Postgres answers where a lock was not to be had in time. */
const notInTime = '55P03';

/**
 * Creates the locks of the tables of related collections. Requests use them in any order, so there is none in which a change could wait for
 * one table after the other: whoever uses several has a lock of the database in common, and whoever changes several has it alone, first of all.
 * A change waits only for a short time at once and then leaves the others as long without it, so that a list that runs for long holds up
 * nobody else. SQLite has one writer at a time, and needs none of it.
 */
export function createTableLocks(sql: Sql): TableLocks {
  if (sql.dialect === 'sqlite') return { use: async () => {}, lock: async () => {}, lockOne: async () => {} };
  const ofDatabases = (databases: readonly DatabaseOfProject[], isShared: boolean): Query => {
    const places = 'select distinct hashtextextended(value, 0) as place from unnest(cast(? as text[])) as given(value)';
    const names = databases.map(({ projectId, databaseId }) => `tables ${projectId}/${databaseId}`);
    return sql.text(
      `select pg_advisory_xact_lock${isShared ? '_shared' : ''}(place) from (${places} order by place) as places`,
      [sql.list(names)],
    );
  };
  const plain = (text: string): Query => ({ sql: text, values: [] });
  const attempt = async (unit: Unit, locks: readonly Query[], waitMs: number): Promise<boolean> => {
    const wait = sql.text("select set_config('lock_timeout', ?, true)", [`${waitMs}ms`]);
    try {
      await unit.together([plain('savepoint tables'), wait, ...locks]);
    } catch (error) {
      if (!(error instanceof DatabaseError && error.code === notInTime)) throw error;
      await unit.run(plain('rollback to savepoint tables'));
      return false;
    }
    await unit.together([plain('set local lock_timeout to default'), plain('release savepoint tables')]);
    return true;
  };
  /** A vacuum, or what locks as one, is at work on one of the tables; the pause in which others go on comes first. */
  const isVacuumed = async (unit: Unit, tables: readonly string[], waitMs: number): Promise<boolean> => {
    const pause = sql.text('select pg_sleep(cast(? as double precision) / 1000)', [waitMs]);
    const vacuums = sql.text(
      "select 1 as one from pg_locks where mode = 'ShareUpdateExclusiveLock' and granted and relation = any(cast(cast(? as text[]) as regclass[])) limit 1",
      [sql.list(tables)],
    );
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
    const locks = [...before, plain(`lock table ${tables.join(', ')} in ${modes[against]} mode`)];
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
      if (databases.length > 0) await reader.all(ofDatabases(databases, true));
    },
    lock: (unit, databases, tables) => lockAll(unit, tables, 'everybody', [ofDatabases(databases, false)]),
    lockOne: (unit, tables, against) => lockAll(unit, tables, against),
  };
}
