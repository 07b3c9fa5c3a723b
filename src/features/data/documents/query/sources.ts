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
  const steps = (offset + limit) * documents * roles;
  if (conditions.length === 0 && inReaders && readable ** 2 <= readersWorth * steps) return 'readers';
  return readable ** 2 <= amongWorth * steps ? 'among' : 'walk';
}

/** Where the lists of collections find their documents. */
export function createSources(sql: Pick<Sql, 'dialect' | 'list'>) {
  const { dialect } = sql;
  const isOneOf = dialect === 'sqlite' ? 'in (select value from json_each(?))' : '= any(cast(? as text[]))';
  const eachRole = dialect === 'sqlite' ? 'json_each(?) as granted' : 'unnest(cast(? as text[])) as granted(value)';

  /** Everything of the collection, which is counted as its documents are written. */
  const everything = (collection: Collection): Source => {
    const counted = `(select coalesce(sum(documents), 0) from ${countsTable} where number = ${collection.number})`;
    const table = documentTable(collection.number);
    return {
      from: { sql: table, values: [] },
      filter: undefined,
      repeats: false,
      total: (upTo) => {
        if (upTo !== 'exact')
          return { sql: `(select count(*) from (select 1 from ${table} limit ${upTo}) as counted)`, values: [] };
        return { sql: collection.layout === currentLayout ? counted : `(select count(*) from ${table})`, values: [] };
      },
    };
  };
  const ofRoles = (collection: Collection, roles: readonly string[], route: Exclude<Route, 'all'>): Source => {
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
      const few = `(select count(*) from (${distinct} limit ${upTo}) as readable)`;
      if (route !== 'walk') return { sql: few, values };
      // One role alone may have that many: then nothing has to be kept apart.
      const many = `exists (select 1 from ${eachRole} where (${ofRole('1', `limit 1 offset ${upTo - 1}`)}) = 1)`;
      return { sql: `(case when ${many} then ${upTo} else ${few} end)`, values: [...values, ...values] };
    };
    if (route === 'readers' && dialect === 'sqlite')
      return { from: { sql: readers, values: [] }, filter: { sql: `role ${isOneOf}`, values }, repeats: true, total };
    if (route === 'readers') {
      const from = { sql: `(select seq, created_at from ${byRole('seq, created_at')}) as readers`, values };
      return { from, filter: undefined, repeats: true, total };
    }
    if (route === 'walk') {
      // `offset 0` keeps Postgres, and `limit 1` SQLite, from making a join of it: that would read all readers, or count a document twice.
      const named =
        dialect === 'sqlite' && roles.length <= fewRoles
          ? `select 1 from json_each(?) as granted cross join ${readers} on ${readers}.role = granted.value where ${readers}.seq = ${table}.seq limit 1`
          : `select 1 from ${readers} where ${readers}.seq = ${table}.seq and ${readers}.role ${isOneOf} ${dialect === 'sqlite' ? 'limit 1' : 'offset 0'}`;
      return { from: { sql: table, values: [] }, filter: { sql: `exists (${named})`, values }, repeats: false, total };
    }
    if (dialect === 'sqlite') {
      // A cross join begins with its left side.
      const from = `(select distinct seq as readable from ${readers} where role ${isOneOf}) as readers cross join ${table} on seq = readable`;
      return { from: { sql: from, values }, filter: undefined, repeats: false, total };
    }
    const filter = { sql: `seq = any(array(select seq from ${byRole('seq')}))`, values };
    return { from: { sql: table, values: [] }, filter, repeats: false, total };
  };
  return (collection: Collection, visibility: Visibility, route: Route): Source =>
    visibility === 'everything' || route === 'all' ? everything(collection) : ofRoles(collection, visibility, route);
}
