import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql, Value } from './query.js';
import type { Table } from './table.js';

/** What a row of a leased table has. A due time that lies ahead is the end of a lease, or the time of the next attempt. */
interface LeasedRow {
  readonly id: string;
  readonly dueAt: Instant | null;
  readonly owner: string | null;
  readonly fence: number;
}

/** The right to work on rows until a time; another process takes them over after it. */
export interface Lease {
  readonly owner: string;
  readonly now: Instant;
  readonly until: Instant;
}

/** SQL by which processes share the rows of a table. `scope` are the columns that a claim is limited to, `claimed` what it sets besides. */
export function createLeasedRows<T extends LeasedRow, S extends string>(
  sql: Sql,
  table: Table<T>,
  { scope, claimed }: { readonly scope: readonly S[]; readonly claimed: string },
) {
  const skipLocked = sql.dialect === 'postgres' ? 'for update skip locked' : '';
  const isInScope = scope.map((column) => `${column} = :${column}`).join(' and ');
  const claim = sql.prepare<Readonly<Record<string, Value>>>((k, p) =>
    k.raw(
      `with due as materialized (
        select id from ${table.name} where ${isInScope} and due_at <= :now order by due_at limit :limit ${skipLocked})
      update ${table.name} set ${claimed}, fence = fence + 1, owner = :owner, due_at = :until
      where id in (select id from due) returning :row`,
      {
        ...Object.fromEntries([...scope, 'now', 'until', 'owner', 'limit'].map((name) => [name, p[name]])),
        row: table.select(sql),
      } as never,
    ),
  );
  const columns = scope.map((column, at) => `value ->> ${at} as ${column}`).join(', ');
  const isShared = scope.map((column) => `${table.name}.${column} = shares.${column}`).join(' and ');
  const oldest = `select id from ${table.name} where ${isShared} and due_at <= :now order by due_at limit`;
  // Only Postgres takes a limit of each share; SQLite takes the largest of them, and leaves what is too much.
  const due =
    sql.dialect === 'postgres'
      ? `select due.id from shares cross join lateral (${oldest} shares.most ${skipLocked}) as due`
      : `select id from (
          select taken.id, shares.most, row_number() over (partition by shares.place order by taken.due_at) as place
          from shares cross join ${table.name} as taken on taken.id in (${oldest} :largest)) where place <= most`;
  const given = sql.dialect === 'postgres' ? 'json_array_elements(cast(:shares as json))' : 'json_each(:shares)';
  const claimShares = sql.prepare<Readonly<Record<'shares' | 'now' | 'until' | 'owner' | 'largest', Value>>>((k, p) =>
    k.raw(
      `with shares as materialized (
        select ${columns}, cast(value ->> ${scope.length} as integer) as most, value ->> ${scope.length + 1} as place from ${given}),
      due as materialized (${due})
      update ${table.name} set ${claimed}, fence = fence + 1, owner = :owner, due_at = :until
      where id in (select id from due) returning :row`,
      {
        ...Object.fromEntries(['shares', 'now', 'until', 'owner', 'largest'].map((name) => [name, p[name as 'now']])),
        row: table.select(sql),
      } as never,
    ),
  );
  return {
    /** Takes of each scope the rows that are due longest, as many as its limit says. */
    claimShares: (
      shares: readonly { readonly of: Readonly<Record<S, string>>; readonly limit: number }[],
      { owner, now, until }: Lease,
    ): Query =>
      claimShares({
        shares: JSON.stringify(shares.map(({ of, limit }, at) => [...scope.map((column) => of[column]), limit, at])),
        largest: Math.max(...shares.map(({ limit }) => limit)),
        owner,
        now,
        until,
      }),
    /** Takes the rows that are due longest: nobody else does until the lease is over, and the fence tells who came later. */
    claim: (of: Readonly<Record<S, string>>, { owner, now, until }: Lease, limit: number): Query =>
      claim({ ...of, owner, now, until, limit }),
    /** Ends a lease; changes nothing where another process has claimed the row since. */
    settle: ({ id, fence }: Pick<T, 'id' | 'fence'>, change: Partial<T>): Query =>
      sql.compile(
        sql
          .knex(table.name)
          .where({ id, fence })
          .update({ ...table.encodeSome(change), owner: null }),
      ),
  };
}
