import { Lru } from '#src/platform/cache/lru.js';
import { countsTable, readersTable } from '#src/platform/db/collection-tables.js';
import type { Value } from '#src/platform/db/query.js';
import { type SlottedFragment, slots } from './slots.js';

const cacheBounds = { bytes: 8_388_608, entries: 20_000, largest: 16_384 } as const;

/** A total that a statement counted, with the state of the database that it was counted in. */
export interface KnownTotal {
  readonly total: number;
  /** The start of the server process that counted. After a failover, numbers of transactions may come again. */
  readonly server: string;
  /** The transactions that the statement saw, as a `pg_snapshot`. */
  readonly snapshot: string;
}

/** Fits no server, so the statement counts. */
const unknownTotal: KnownTotal = { total: 0, server: '', snapshot: '1:1:' };
/** Returned by a statement if the known total is still valid. */
const unchanged = '=';

/** Totals of lists by their collection, filter and roles. They are never trusted: the statement of each list compares their state with its own. */
export interface KnownTotals {
  get(key: string): KnownTotal;
  /** Reads the total that a statement returned, and keeps it for later lists. */
  read(key: string, known: KnownTotal, counted: Value | undefined): number;
}

/** Creates the bounded cache of totals. */
export function createKnownTotals(): KnownTotals {
  const cache = new Lru<KnownTotal>(cacheBounds);
  return {
    get: (key) => cache.get(key) ?? unknownTotal,
    read: (key, known, counted) => {
      if (counted === unchanged) return known.total;
      const [count, snapshot, ...server] = String(counted).split(' ');
      const total = Number(count);
      if (snapshot !== undefined) {
        const state = { snapshot, server: server.join(' ') };
        cache.set(key, { total, ...state }, 200 + 2 * (snapshot.length + state.server.length));
      }
      return total;
    },
  };
}

/** A known total as it occurs in a statement. */
export interface TotalFragment {
  /** True if no transaction has changed documents since the total was counted, and none names a role that the total leaves out. */
  readonly holds: SlottedFragment;
  /** True if a document names a role that the total leaves out. */
  readonly named: SlottedFragment;
}

/**
 * Makes the SQL for a known total. Every change of documents adds a row with its transaction to the counts of the collection. A total leaves
 * out roles of the caller that no document names, so that callers with different ones share it.
 */
export function totalFragment(number: number): TotalFragment {
  const snapshot = 'cast(cast(? as text) as pg_snapshot)';
  const later = `select 1 from ${countsTable} where number = ${number} and changed >= pg_snapshot_xmin(${snapshot}) and not pg_visible_in_snapshot(changed, ${snapshot})`;
  // `order by` makes Postgres use the index: it would read the whole table for a role that no document names.
  const ofRole = `select 1 from ${readersTable(number)} where role = granted.value order by seq limit 1`;
  const named = `exists (select 1 from unnest(cast(? as text[])) as granted(value) cross join lateral (${ofRole}) as named)`;
  return {
    holds: {
      sql: `cast(pg_postmaster_start_time() as text) = cast(? as text) and not pg_is_in_recovery() and not exists (${later}) and not ${named}`,
      values: [slots.server, slots.snapshot, slots.snapshot, slots.absent],
    },
    named: { sql: named, values: [slots.absent] },
  };
}

/**
 * A total with the state that it was counted in, unless a known one holds. A standby has no state, because its snapshots do not list running
 * transactions.
 */
export function totalWithState(holds: string, named: string, counted: string): string {
  const state = "' ' || cast(pg_current_snapshot() as text) || ' ' || cast(pg_postmaster_start_time() as text)";
  return `case when ${holds} then '${unchanged}' else cast(${counted} as text) || case when pg_is_in_recovery() or ${named} then '' else ${state} end end`;
}
