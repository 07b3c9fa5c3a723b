import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql, Value } from './query.js';
import type { Table } from './table.js';

/** Columns of a leased table. */
interface LeasedRow {
  readonly id: string;
  /** Time of the next attempt; null when done. A claim does not change it, so that claims update no index. */
  readonly dueAt: Instant | null;
  /** Expiry of the lease; null if the row is free. */
  readonly leaseUntil: Instant | null;
  readonly owner: string | null;
  readonly fence: number;
  readonly state: string;
}

/** The right to work on rows until `until`; after that another process may claim them. */
export interface RowLease {
  readonly owner: string;
  readonly now: Instant;
  readonly until: Instant;
}

/**
 * Builds SQL that claims the rows that have been due longest. No other process claims them until the lease expires, and the fence
 * distinguishes later claims. `scope` lists the columns that limit a claim; `claimed` is an additional assignment.
 */
export function createLeaseClaim<T extends LeasedRow, S extends string>(
  sql: Sql,
  table: Table<T>,
  { scope, claimed }: { readonly scope: readonly S[]; readonly claimed: string },
) {
  const isInScope = scope.map((column) => `${column} = :${column}`).join(' and ');
  const claim = sql.prepare<Readonly<Record<string, Value>>>((k, p) =>
    k.raw(
      `with due as materialized (
        select id from ${table.name} where ${isInScope} and due_at <= :now and ${isFree(':now')} order by due_at limit :limit${sql.words.skipLocked})
      update ${table.name} set ${claimed}, ${leased} where id in (select id from due) returning :row`,
      {
        ...Object.fromEntries([...scope, 'now', 'until', 'owner', 'limit'].map((name) => [name, p[name]])),
        row: table.select(sql),
      },
    ),
  );
  return (of: Readonly<Record<S, string>>, { owner, now, until }: RowLease, limit: number): Query =>
    claim({ ...of, owner, now, until, limit });
}

/** Assignments of a claim, with the parameters `owner` and `until`. */
export const leased = 'fence = fence + 1, owner = :owner, lease_until = :until';

/** SQL condition for a row without a lease or with an expired one; `now` is the placeholder of the time. */
export const isFree = (now: string): string => `(lease_until is null or lease_until <= ${now})`;

/** Column values of a row without a lease. */
export const free = { owner: null, lease_until: null } as const;

/**
 * Builds SQL that ends a lease. It changes nothing if another process has claimed the row since, or if the lease has already ended, because
 * the response to an earlier COMMIT may have been lost. `claimed` is the state of a row with a lease.
 */
export function createLeaseEnd<T extends LeasedRow>(sql: Sql, table: Table<T>, claimed: T['state']) {
  return ({ id, fence }: Pick<T, 'id' | 'fence'>, change: Partial<T>): Query =>
    sql.compile(
      sql
        .knex(table.name)
        .where({ id, fence, state: claimed })
        .update({ ...table.encodeSome(change), ...free }),
    );
}
