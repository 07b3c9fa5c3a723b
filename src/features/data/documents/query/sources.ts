import { countsTable, documentTable, readersTable } from '#src/platform/db/collection-tables.js';
import type { Sql } from '#src/platform/db/query.js';
import type { Fragment } from '#src/platform/list-query/index.js';
import { type Collection, currentLayout } from '../../databases/index.js';
import type { DocumentQuery } from './parse.js';
import type { ReaderCount } from './reader-counts.js';
import { filled, type SlottedFragment, slots, type Visibility } from './slots.js';

export type { Visibility } from './slots.js';

/**
 * Access path of a list. `all`: all documents are visible. `readers`: reads only the rows of readers. `among`: looks up the documents that
 * the readers name. `walk`: goes through the documents and looks up the readers of each.
 */
export type Route = 'all' | 'readers' | 'among' | 'walk';

/** Most roles for a shared statement of a walk in SQLite, which parses the roles again for each document. */
export const fewRoles = 16;

/** Source of the documents of a list. */
export interface DocumentSource {
  /** The FROM clause. */
  readonly from: SlottedFragment;
  /** Condition for documents that the caller may see; undefined if `from` suffices. */
  readonly filter: SlottedFragment | undefined;
  /** True if a document appears once for each role that may read it. */
  readonly repeats: boolean;
  /** Counts the documents of a list without conditions, up to a limit or exactly. */
  total(upTo: number | 'exact'): SlottedFragment;
  /** Condition that is true if there are that many documents. It depends on the role only, so all callers with that role share it. */
  readonly hasMany: ((upTo: number) => SlottedFragment) | undefined;
}

/**
 * Cost of one step of a walk, in rows of readers and in lookups of documents. A step takes 0.4 µs for each role, a row of readers 0.1 µs, a
 * document 2 µs (SQLite, a million documents).
 */
const readersWorth = 4;
const amongWorth = 0.2;

/**
 * Chooses the cheapest access path for a caller whose roles were counted. A walk takes about `rows × documents / readable` steps to its
 * page; the other paths read `readable` rows. All paths find the same documents.
 */
export function routeOf(
  collection: Collection,
  { conditions, orders, offset, limit, isRandom }: DocumentQuery,
  { readable, documents, roles }: ReaderCount,
): Exclude<Route, 'all'> {
  const isCurrent = collection.layout === currentLayout;
  const inReaders = orders.every(
    ({ field }) =>
      field.kind === 'system' && (field.name === '$sequence' || (field.name === '$createdAt' && isCurrent)),
  );
  // Random order reads every document for any page.
  const steps = (isRandom ? documents : offset + limit) * documents * roles.length;
  if (conditions.length === 0 && inReaders && !isRandom && readable ** 2 <= readersWorth * steps) return 'readers';
  return readable ** 2 <= amongWorth * steps ? 'among' : 'walk';
}

type SourceSql = Pick<Sql, 'facts' | 'words' | 'list'>;

/** Finds the source of a list. `widest` is a role that many documents name. */
export function sourceOf(
  sql: SourceSql,
  collection: Collection,
  visibility: Visibility,
  route: Route,
  widest?: string,
): DocumentSource {
  return visibility === 'everything' || route === 'all'
    ? everything(collection)
    : ofRoles(sql, collection, visibility.length <= fewRoles, route, widest);
}

/** Condition for documents that the caller may see; undefined for all. */
export function visibleFilter(sql: SourceSql, collection: Collection, visibility: Visibility): Fragment | undefined {
  const { filter } = sourceOf(sql, collection, visibility, 'walk');
  return filter && { sql: filter.sql, values: filled(filter.values, { visibility }, sql) };
}

/** All documents of the collection. Their count is updated with each write. */
function everything(collection: Collection): DocumentSource {
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
}

/** The documents that roles may read. The role that most documents name is first, so a walk mostly looks up one role. */
function ofRoles(
  { facts: { hasLateralJoins, parsesListsPerRow }, words }: SourceSql,
  collection: Collection,
  areFew: boolean,
  route: Exclude<Route, 'all'>,
  widest: string | undefined,
): DocumentSource {
  const [table, readers] = [documentTable(collection.number), readersTable(collection.number)];
  const { isOneOf, noJoin } = words;
  const place = words.typed('text');
  const values = [slots.roles];
  const readable = `select distinct seq from ${readers} where role ${isOneOf}`;
  // `order by seq` makes Postgres use the index. It assumes that all roles are equally frequent and would read the whole table for a rare
  // one.
  const ofRole = (columns: string, rest = '') =>
    `select ${columns} from ${readers} where role = granted.value order by seq ${rest}`;
  const byRole = (columns: string, rest = '') =>
    `${words.eachOfList('granted')} cross join lateral (${ofRole(columns, rest)}) as named`;
  const total = (upTo: number | 'exact'): SlottedFragment => {
    if (upTo === 'exact') return { sql: `(select count(*) from (${readable}) as readable)`, values };
    const distinct = hasLateralJoins ? `select distinct seq from ${byRole('seq', `limit ${upTo}`)}` : readable;
    return { sql: `(select count(*) from (${distinct} limit ${upTo}) as readable)`, values };
  };
  // Independent of the caller, so both databases evaluate it once for a shared statement. It checks if the last of `upTo` rows, counted
  // from the first of the role, still has that role. A filter on the role would compare it in each row on the way.
  const hasMany =
    widest === undefined
      ? undefined
      : (upTo: number): SlottedFragment => ({
          sql: `(select role from ${readers} where role >= ${place} order by role, seq limit 1 offset ${upTo - 1}) = ${place}`,
          values: [slots.widest, slots.widest],
        });
  const shared = { total, hasMany };
  if (route === 'readers' && !hasLateralJoins)
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
    // A join would read all readers, or count a document twice.
    const first = `exists (select 1 from ${readers} where ${readers}.role = ${place} and ${readers}.seq = ${table}.seq${noJoin})`;
    const named =
      parsesListsPerRow && areFew
        ? `select 1 from ${words.eachOfList('granted')} cross join ${readers} on ${readers}.role = granted.value where ${readers}.seq = ${table}.seq${noJoin}`
        : `select 1 from ${readers} where ${readers}.seq = ${table}.seq and ${readers}.role ${isOneOf}${noJoin}`;
    const filter = { sql: `(${first} or exists (${named}))`, values: [slots.firstRole, ...values] };
    return { ...shared, from: { sql: table, values: [] }, filter, repeats: false };
  }
  if (!hasLateralJoins) {
    // SQLite runs a cross join from its left side.
    const from = `(select distinct seq as readable from ${readers} where role ${isOneOf}) as readers cross join ${table} on seq = readable`;
    return { ...shared, from: { sql: from, values }, filter: undefined, repeats: false };
  }
  const filter = { sql: `seq ${words.isOneOfQuery(`select seq from ${byRole('seq')}`)}`, values };
  return { ...shared, from: { sql: table, values: [] }, filter, repeats: false };
}
