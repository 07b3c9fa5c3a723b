import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql, Value } from './query.js';
import { instant, integer, nullable, type Table, text } from './table.js';

/** Columns of a lease in a row. */
interface Lease {
  /** The process that holds the lease, or held it when it was killed; null if the row is free. */
  readonly owner: string | null;
  /** Expiry of the lease; null if the row is free. */
  readonly leaseUntil: Instant | null;
  /** Grows with each claim. It detects that another process has claimed the row since. */
  readonly fence: number;
}

/** Columns of a lease, for the description of a table. */
export const leaseColumns = { owner: nullable(text), leaseUntil: nullable(instant), fence: integer } as const;

/** Columns of a queue of leased rows. */
interface QueuedRow extends Lease {
  readonly id: string;
  /** Time of the next attempt; null when done. A claim does not change it, so that claims update no index. */
  readonly dueAt: Instant | null;
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
export function createLeaseClaim<T extends QueuedRow, S extends string>(
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

/**
 * SQL condition for a row without a lease or with an expired one; `now` is the placeholder of the time. A lease that ends after `latest`, the
 * latest possible end, was claimed before the clock was set back and counts as expired.
 */
export const isFree = (now: string, latest?: string): string =>
  `(lease_until is null or lease_until <= ${now}${latest === undefined ? '' : ` or ${isLeased(latest)}`})`;

/** SQL condition for a row whose lease ends after a time; `at` is the placeholder of the time. */
export const isLeased = (at: string): string => `lease_until > ${at}`;

/** Column values of a row without a lease. */
export const free = { owner: null, lease_until: null } as const;

/** Assignments that end a lease. */
export const freed = 'owner = null, lease_until = null';

/** Column values that end a lease which another process may hold: its claim no longer counts. */
export const revoked = ({ knex }: Sql) => ({ ...free, fence: knex.raw('fence + 1') });

/** Columns that identify a claim: the key of its row, and the fence. */
type Claimed<T extends Lease> = Partial<T> & Pick<T, 'fence'>;

/**
 * SQL that ends a lease and changes its row. It changes nothing if another process has claimed the row since. If `claim` contains the state
 * of a claimed row, it changes nothing either if the lease has ended: the response to an earlier COMMIT may have been lost.
 */
export function endLease<T extends Lease>(sql: Sql, table: Table<T>, claim: Claimed<T>, change: Partial<T>): Query {
  return sql.compile(rowOf(sql, table, claim).update({ ...table.encodeSome(change), ...free }));
}

/** SQL that extends a lease. It changes nothing if the lease has ended, or if another process has claimed the row since. */
export function renewLease<T extends Lease>(sql: Sql, table: Table<T>, claim: Claimed<T>, until: Instant): Query {
  return sql.compile(rowOf(sql, table, claim).whereNotNull('owner').update({ lease_until: until }));
}

function rowOf<T extends Lease>({ knex }: Sql, table: Table<T>, claim: Claimed<T>) {
  return knex(table.name).where(table.encodeSome(claim));
}
