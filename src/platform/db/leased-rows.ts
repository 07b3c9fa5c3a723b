import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql, Value } from './query.js';
import type { Table } from './table.js';

/** What a row of a leased table has. */
interface LeasedRow {
  readonly id: string;
  /** When the next attempt is due; null when all is done. A claim leaves it as it is: no index holds what a claim changes. */
  readonly dueAt: Instant | null;
  /** Until when nobody else works on it; null while nobody does. */
  readonly leaseUntil: Instant | null;
  readonly owner: string | null;
  readonly fence: number;
  readonly state: string;
}

/** The right to work on rows until a time; another process takes them over after it. */
export interface Lease {
  readonly owner: string;
  readonly now: Instant;
  readonly until: Instant;
}

/**
 * SQL that takes the rows of a table that are due longest: nobody else does until the lease is over, and the fence tells who came later. `scope`
 * are the columns that a claim is limited to, `claimed` what it sets besides.
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
        select id from ${table.name} where ${isInScope} and due_at <= :now and ${isFree(':now')} order by due_at limit :limit ${skipLocked(sql)})
      update ${table.name} set ${claimed}, ${leased} where id in (select id from due) returning :row`,
      {
        ...Object.fromEntries([...scope, 'now', 'until', 'owner', 'limit'].map((name) => [name, p[name]])),
        row: table.select(sql),
      } as never,
    ),
  );
  return (of: Readonly<Record<S, string>>, { owner, now, until }: Lease, limit: number): Query =>
    claim({ ...of, owner, now, until, limit });
}

/** What a claim sets, by the names `owner` and `until`. */
export const leased = 'fence = fence + 1, owner = :owner, lease_until = :until';

/** SQL that tells whether nobody works on a row, or its lease is over; `now` is the place of the time. */
export const isFree = (now: string): string => `(lease_until is null or lease_until <= ${now})`;

/** What a row has that nobody works on. */
export const free = { owner: null, lease_until: null } as const;

/** Leaves out the rows that another claim is about to take. */
export const skipLocked = ({ dialect }: Sql): string => (dialect === 'postgres' ? 'for update skip locked' : '');

/**
 * SQL that ends a lease; it changes nothing where another process has claimed the row since, nor where the lease has ended: the answer to an
 * earlier COMMIT may have been lost. `claimed` is the state of a row that somebody works on.
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
