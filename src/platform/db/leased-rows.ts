import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from './query.js';
import { instant, integer, nullable, type Table, text } from './table.js';
import { raw, type SqlPart } from './template.js';

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

/** The right to work on rows until `until`; after that another process may claim them. */
export interface RowLease {
  readonly owner: string;
  readonly now: Instant;
  readonly until: Instant;
}

/** Assignments of a claim. */
export const leased = ({ owner, until }: Pick<RowLease, 'owner' | 'until'>): SqlPart =>
  raw('fence = fence + 1, owner = ?, lease_until = ?', [owner, until]);

/**
 * Condition for a row without a lease or with an expired one. A lease that ends after `latest`, the latest possible end, was claimed before
 * the clock was set back and counts as expired.
 */
export const isFree = (now: Instant, latest?: Instant): SqlPart =>
  latest === undefined
    ? raw('(lease_until is null or lease_until <= ?)', [now])
    : raw('(lease_until is null or lease_until <= ? or lease_until > ?)', [now, latest]);

/** Condition for a row whose lease ends after a time. */
export const isLeased = (at: Instant): SqlPart => raw('lease_until > ?', [at]);

/** Assignments that end a lease. */
export const freed = raw('owner = null, lease_until = null');

/** Assignments that end a lease which another process may hold: its claim no longer counts. */
export const revoked = raw('owner = null, lease_until = null, fence = fence + 1');

/** Values of a row without a lease. */
const free = { owner: null, leaseUntil: null } as const;

/** Columns that identify a claim: the key of its row, and the fence. */
type Claimed<T extends Lease> = Partial<T> & Pick<T, 'fence'>;

/**
 * SQL that ends a lease and changes its row. It changes nothing if another process has claimed the row since. If `claim` contains the state
 * of a claimed row, it changes nothing either if the lease has ended: the response to an earlier COMMIT may have been lost.
 */
export function endLease<T extends Lease>(sql: Sql, table: Table<T>, claim: Claimed<T>, change: Partial<T>): Query {
  return sql`update ${raw(table.name)} set ${table.set({ ...change, ...free })} where ${isClaim(table, claim)}`;
}

/** SQL that extends a lease. It changes nothing if the lease has ended, or if another process has claimed the row since. */
export function renewLease<T extends Lease>(sql: Sql, table: Table<T>, claim: Claimed<T>, until: Instant): Query {
  return sql`
    update ${raw(table.name)} set lease_until = ${until} where ${isClaim(table, claim)} and owner is not null`;
}

function isClaim<T extends Lease>(table: Table<T>, claim: Claimed<T>): SqlPart {
  const columns = Object.entries(table.encode(claim));
  return raw(
    columns.map(([column]) => `${column} = ?`).join(' and '),
    columns.map(([, value]) => value),
  );
}
