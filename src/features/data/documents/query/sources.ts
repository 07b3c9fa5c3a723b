import { countsTable, documentTable, readersTable } from '#src/platform/db/collection-tables.js';
import type { Sql } from '#src/platform/db/query.js';
import type { Fragment } from '#src/platform/list-query/index.js';
import { type Collection, currentLayout } from '../../databases/index.js';
import type { DocumentQuery } from './parse.js';
import type { ReaderCount } from './reader-counts.js';

/** Which documents of a list a caller may see: everything, or those that grant one of the roles to read. */
export type Visibility = 'everything' | readonly string[];

/**
 * How a list finds what the caller may see: `all` of it is; in the rows of `readers` alone; `among` the documents that the readers name;
 * or by a `walk` through the documents, which looks up the readers of each.
 */
export type Route = 'all' | 'readers' | 'among' | 'walk';

/** Up to so many roles a list of SQLite takes them apart again for each document of a walk, and can share its statement. */
export const fewRoles = 16;

/** Where a list finds its documents. */
export interface Source {
  /** What stands after FROM. */
  readonly from: Fragment;
  /** What decides who sees a document, as a condition. */
  readonly filter: Fragment | undefined;
  /** Whether a document stands there once for each role that may read it. */
  readonly repeats: boolean;
  /** How many there are in all, up to a number or exactly, where that is known without the conditions of a list. */
  total(upTo: number | 'exact'): Fragment;
  /** A condition that holds where there are so many: the same for all callers of the role that it asks about. */
  readonly hasMany: ((upTo: number) => Fragment) | undefined;
}

/**
 * How many steps of a walk cost as much as a row of readers, and as a document that is looked up. A step looks up each role, for 0.4 µs; a row
 * of readers costs 0.1 µs, a document 2 µs (SQLite, a million documents).
 */
const readersWorth = 4;
const amongWorth = 0.2;

/**
 * The cheaper way for a caller whose roles were counted: a walk takes about `rows × documents / readable` steps to its page, the readers are as
 * many as there are. Every way finds the same documents.
 */
export function routeOf(
  collection: Collection,
  { conditions, orders, offset, limit }: DocumentQuery,
  { readable, documents, roles }: ReaderCount,
): Exclude<Route, 'all'> {
  const isCurrent = collection.layout === currentLayout;
  const inReaders = orders.every(
    ({ field }) =>
      field.kind === 'system' && (field.name === '$sequence' || (field.name === '$createdAt' && isCurrent)),
  );
  const steps = (offset + limit) * documents * roles.length;
  if (conditions.length === 0 && inReaders && readable ** 2 <= readersWorth * steps) return 'readers';
  return readable ** 2 <= amongWorth * steps ? 'among' : 'walk';
}

/** Where the lists of collections find their documents. */
export function createSources(sql: Pick<Sql, 'dialect' | 'list'>) {
  const { dialect } = sql;
  const isOneOf = dialect === 'sqlite' ? 'in (select value from json_each(?))' : '= any(cast(? as text[]))';
  const place = dialect === 'sqlite' ? '?' : 'cast(? as text)';
  const eachRole = dialect === 'sqlite' ? 'json_each(?) as granted' : 'unnest(cast(? as text[])) as granted(value)';

  /** Everything of the collection, which is counted as its documents are written. */
  const everything = (collection: Collection): Source => {
    const counted = `(select coalesce(sum(documents), 0) from ${countsTable} where number = ${collection.number})`;
    const table = documentTable(collection.number);
    return {
      from: { sql: table, values: [] },
      filter: undefined,
      repeats: false,
      hasMany: undefined,
      total: (upTo) => {
        if (upTo !== 'exact')
          return { sql: `(select count(*) from (select 1 from ${table} limit ${upTo}) as counted)`, values: [] };
        return { sql: collection.layout === currentLayout ? counted : `(select count(*) from ${table})`, values: [] };
      },
    };
  };
  /** Roles come with the one first that most documents name, so that a walk mostly asks for one. */
  const ofRoles = (
    collection: Collection,
    roles: readonly string[],
    route: Exclude<Route, 'all'>,
    widest: string | undefined,
  ): Source => {
    const [table, readers] = [documentTable(collection.number), readersTable(collection.number)];
    const values = [sql.list(roles)];
    const readable = `select distinct seq from ${readers} where role ${isOneOf}`;
    // In the order of its key: Postgres takes every role for one that the average document names, and would read the whole table for one that few do.
    const ofRole = (columns: string, rest = '') =>
      `select ${columns} from ${readers} where role = granted.value order by seq ${rest}`;
    const byRole = (columns: string, rest = '') => `${eachRole} cross join lateral (${ofRole(columns, rest)}) as named`;
    const total = (upTo: number | 'exact'): Fragment => {
      if (upTo === 'exact') return { sql: `(select count(*) from (${readable}) as readable)`, values };
      const distinct = dialect === 'sqlite' ? readable : `select distinct seq from ${byRole('seq', `limit ${upTo}`)}`;
      return { sql: `(select count(*) from (${distinct} limit ${upTo}) as readable)`, values };
    };
    // Nothing of it depends on the caller, so both databases evaluate it once for a statement that callers share. The last of so many rows from
    // the first of the role on has that role where there are as many: to ask for the role itself would compare it in each row on the way.
    const hasMany =
      widest === undefined
        ? undefined
        : (upTo: number): Fragment => ({
            sql: `(select role from ${readers} where role >= ${place} order by role, seq limit 1 offset ${upTo - 1}) = ${place}`,
            values: [widest, widest],
          });
    const shared = { total, hasMany };
    if (route === 'readers' && dialect === 'sqlite')
      return {
        ...shared,
        from: { sql: readers, values: [] },
        filter: { sql: `role ${isOneOf}`, values },
        repeats: true,
      };
    if (route === 'readers') {
      const from = { sql: `(select seq, created_at from ${byRole('seq, created_at')}) as readers`, values };
      return { ...shared, from, filter: undefined, repeats: true };
    }
    if (route === 'walk') {
      // `offset 0` keeps Postgres, and `limit 1` SQLite, from making a join of it: that would read all readers, or count a document twice.
      const alone = dialect === 'sqlite' ? 'limit 1' : 'offset 0';
      const first = `exists (select 1 from ${readers} where ${readers}.role = ${place} and ${readers}.seq = ${table}.seq ${alone})`;
      const named =
        dialect === 'sqlite' && roles.length <= fewRoles
          ? `select 1 from json_each(?) as granted cross join ${readers} on ${readers}.role = granted.value where ${readers}.seq = ${table}.seq limit 1`
          : `select 1 from ${readers} where ${readers}.seq = ${table}.seq and ${readers}.role ${isOneOf} ${alone}`;
      const filter = { sql: `(${first} or exists (${named}))`, values: [roles[0] ?? '', ...values] };
      return { ...shared, from: { sql: table, values: [] }, filter, repeats: false };
    }
    if (dialect === 'sqlite') {
      // A cross join begins with its left side.
      const from = `(select distinct seq as readable from ${readers} where role ${isOneOf}) as readers cross join ${table} on seq = readable`;
      return { ...shared, from: { sql: from, values }, filter: undefined, repeats: false };
    }
    const filter = { sql: `seq = any(array(select seq from ${byRole('seq')}))`, values };
    return { ...shared, from: { sql: table, values: [] }, filter, repeats: false };
  };
  return (collection: Collection, visibility: Visibility, route: Route, widest?: string): Source =>
    visibility === 'everything' || route === 'all'
      ? everything(collection)
      : ofRoles(collection, visibility, route, widest);
}
