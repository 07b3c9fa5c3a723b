import { Lru } from '#src/platform/cache/lru.js';
import { countsTable } from '#src/platform/db/collection-tables.js';
import type { Row } from '#src/platform/db/table.js';
import type { Fragment } from '#src/platform/list-query/index.js';

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
export const unknownTotal: KnownTotal = { total: 0, server: '', snapshot: '1:1:' };

/** Totals of lists by their collection, filter and roles. They are never trusted: the statement of each list compares their state with its own. */
export interface KnownTotals {
  get(key: string): KnownTotal;
  /** Keeps the total of a row with the columns of `totalState`. */
  keep(key: string, row: Row): void;
}

/** Creates the bounded cache of totals. */
export function createKnownTotals(): KnownTotals {
  const cache = new Lru<KnownTotal>(cacheBounds);
  return {
    get: (key) => cache.get(key) ?? unknownTotal,
    keep: (key, { total, server, snapshot }) => {
      if (typeof server !== 'string') return;
      const seen = String(snapshot);
      cache.set(key, { total: Number(total), server, snapshot: seen }, 200 + 2 * (server.length + seen.length));
    },
  };
}

/**
 * The state of the database that a statement sees, as columns; the server is null on a standby, whose snapshots do not list running
 * transactions.
 */
export const totalState =
  'case when pg_is_in_recovery() then null else cast(pg_postmaster_start_time() as text) end as server, cast(pg_current_snapshot() as text) as snapshot';

/** A known total as SQL. */
export interface TotalFragments {
  /** True if no transaction has changed documents of the collection since the total was counted. */
  readonly holds: Fragment;
  readonly total: Fragment;
}

/** Converts a known total to SQL. Every change of documents adds a row with its transaction to the counts of the collection. */
export function totalFragments(number: number, known: KnownTotal): TotalFragments {
  const snapshot = 'cast(cast(? as text) as pg_snapshot)';
  const later = `select 1 from ${countsTable} where number = ${number} and changed >= pg_snapshot_xmin(${snapshot}) and not pg_visible_in_snapshot(changed, ${snapshot})`;
  return {
    holds: {
      sql: `cast(pg_postmaster_start_time() as text) = cast(? as text) and not pg_is_in_recovery() and not exists (${later})`,
      values: holdsValues(known),
    },
    total: { sql: 'cast(? as bigint)', values: [known.total] },
  };
}

/** The values of `holds`. */
export function holdsValues({ server, snapshot }: KnownTotal): readonly string[] {
  return [server, snapshot, snapshot];
}
