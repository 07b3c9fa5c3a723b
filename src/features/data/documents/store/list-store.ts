import { documentTable, readersTable } from '#src/platform/db/collection-tables.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import type { SharedQuery } from '#src/platform/db/shared-read.js';
import { afterCursor, type Fragment, join, type Order } from '#src/platform/list-query/index.js';
import type { Collection } from '../../databases/index.js';
import { columnArrayOf, listedIds } from '../model/row.js';
import type { Serializers } from '../model/serializer.js';
import { createDocumentCompiler, isShortOrder, orderColumns, orderText } from '../query/compile.js';
import { type KnownTotal, totalFragment } from '../query/known-totals.js';
import { type CountUpTo, pageStatement, type SharedPage, sharedPage } from '../query/page.js';
import { type DocumentQuery, type Field, isEquality, isOfSingleValues, isSome, typeOf } from '../query/parse.js';
import { type CallParameters, slots } from '../query/slots.js';
import { fewRoles, type Route, sourceOf } from '../query/sources.js';

/** Form of a page: one text, or values. */
export type PageForm = 'printed' | 'values';

/** Parameters of a page of a list, besides the query. */
export interface ListPage extends CallParameters {
  readonly route: Route;
  readonly cursor: readonly Value[] | null;
  readonly count: CountUpTo;
  readonly form: PageForm;
  /** Undefined if there is no key for the total. */
  readonly known?: KnownTotal | undefined;
  readonly absent: readonly string[];
}

/** The total of a list depends on these and on the query. */
export type TotalPage = Pick<ListPage, 'visibility' | 'widest' | 'count' | 'absent'>;

/** SQL for pages of lists. A page contains the version of the schema. */
export interface ListStore {
  /** Counts the documents that each role may read, up to a limit. For the empty role, returns the last sequence of the collection. */
  readerCounts(collection: Collection, roles: readonly string[], upTo: number): Query;
  /**
   * Reads the values of documents in the columns of an order, as `c0` and up, with ids and permissions. 64-bit numbers are text because
   * drivers round them.
   */
  places(collection: Collection, ids: readonly string[], orders: readonly Order<Field>[]): Query;
  /** Finds ids and sizes of the documents that a query matches, in its order. */
  matching(collection: Collection, request: DocumentQuery, limit: number): Query;
  /**
   * Finds which of these documents still match the filters. Locks them until the end of the unit, in the order of their ids. All units use
   * this order.
   */
  stillMatching(collection: Collection, request: DocumentQuery, ids: readonly string[]): Query;
  /** Text that names the total of a list among those of all lists; undefined if the list always counts. */
  totalKey(collection: Collection, request: DocumentQuery, page: TotalPage): string | undefined;
  /** Reads a page of a list and its total. */
  list(collection: Collection, request: DocumentQuery, page: ListPage): Query;
  /**
   * The same for lists that share statements. Undefined if the best plan of Postgres depends on the values. Also undefined if SQLite would
   * parse a list of values again for each row, because a shared statement has the list in a column.
   */
  sharedList(collection: Collection, request: DocumentQuery, page: ListPage): SharedQuery | undefined;
}

interface Deps {
  readonly sql: Sql;
  readonly serializerOf: Serializers;
  readonly condition: (condition: DocumentQuery['conditions'][number]) => Fragment;
  /** The columns that every document has, as a JSON array. */
  readonly columnArray: string;
  readonly cache: WeakMap<DocumentQuery, Map<string, SharedPage>>;
  /** The filters of queries as texts. */
  readonly filters: WeakMap<DocumentQuery, string>;
}

/** Creates the SQL for pages of lists. */
export function createListStore(sql: Sql, serializerOf: Serializers): ListStore {
  const { dialect } = sql;
  const condition = createDocumentCompiler(sql);
  const deps: Deps = {
    sql,
    serializerOf,
    condition,
    columnArray: columnArrayOf(sql),
    cache: new WeakMap(),
    filters: new WeakMap(),
  };
  return {
    readerCounts: (collection, roles, upTo) => {
      const readers = readersTable(collection.number);
      // `order by seq` makes Postgres use the index. It would read the whole table for a rare role if most documents name another one.
      const ofRole = `select count(*) from (select 1 from ${readers} where role = granted.value order by seq limit ${upTo}) as counted`;
      const last = `(select max(seq) from ${documentTable(collection.number)})`;
      return sql.text(
        `select granted.value as role, case when granted.value = '' then coalesce(${last}, 0) else (${ofRole}) end as count from ${sql.words.eachOfList('granted')}`,
        [sql.list(roles)],
      );
    },
    places: (collection, ids, orders) => {
      const columns = orderColumns(orders, dialect).map(({ column }, at) => {
        const field = orders[at]?.field;
        // The tie-break is `seq`.
        const isWhole = field === undefined || typeOf(field).column === 'integer';
        return `${isWhole ? `cast(${column} as text)` : column} as c${at}`;
      });
      return sql.text(
        `select id, permissions, ${columns.join(', ')} from ${documentTable(collection.number)} where id ${sql.words.isOneOf}`,
        [sql.list(ids)],
      );
    },
    matching: (collection, request, limit) => {
      const { sql: bytes, values } = serializerOf(collection).bytes(null);
      const filter = join(request.conditions.map(condition), ' and ');
      const where = request.conditions.length === 0 ? '' : ` where ${filter.sql}`;
      const order = orderText(request, dialect, false);
      return sql.text(
        `select id, ${bytes} as bytes from ${documentTable(collection.number)}${where} order by ${order} limit ? offset ?`,
        [...values, ...filter.values, limit, request.offset],
      );
    },
    stillMatching: (collection, { conditions }, ids) => {
      const { sql: text, values } = join([listedIds(sql, ids), ...conditions.map(condition)], ' and ');
      return sql.text(
        `select id from ${documentTable(collection.number)} where ${text} order by id${sql.words.forUpdate}`,
        values,
      );
    },
    totalKey: (collection, request, page) => totalKey(deps, collection, request, page),
    list: (collection, request, page) => pageStatement(sql, pageOf(deps, collection, request, page), page),
    sharedList: (collection, request, page) => sharedList(deps, collection, request, page),
  };
}

/** False for searches for words and for related documents: they read other tables, and changes of those are not recorded. */
function totalKey(
  { sql: { facts }, condition, filters }: Deps,
  { number, version, tracked }: Collection,
  request: DocumentQuery,
  { visibility, widest, count, absent }: TotalPage,
): string | undefined {
  if (!facts.recordsChanges || !tracked || count === 0 || request.related.length > 0) return undefined;
  // The total is the same for all callers then, and costs no more than to see if a known one holds.
  if (request.conditions.length === 0 && (visibility === 'everything' || widest !== undefined)) return undefined;
  if (request.conditions.some((condition) => isSome(condition, ({ kind }) => kind === 'fulltext'))) return undefined;
  const filter = filters.get(request) ?? JSON.stringify(request.conditions.map(condition));
  filters.set(request, filter);
  const roles =
    visibility === 'everything'
      ? ''
      : visibility
          .filter((role) => !absent.includes(role))
          .sort()
          .join(' ');
  return `${number} ${version} ${count} ${roles} ${filter}`;
}

function pageOf(
  { sql, serializerOf, condition, columnArray }: Deps,
  collection: Collection,
  request: DocumentQuery,
  page: ListPage,
) {
  const { visibility, route, widest, cursor, count, form, known } = page;
  const serializer = serializerOf(collection);
  const line = sql.words.lineFeed;
  const valuesOf = ({ sql: data, values }: Fragment): Fragment => ({
    sql: `${columnArray} || ${line} || (${data})`,
    values,
  });
  const source = sourceOf(sql, collection, visibility, route, widest);
  return {
    collection,
    request,
    afterCursor:
      cursor &&
      afterCursor(orderColumns(request.orders, sql.dialect), slots.cursor(cursor), request.cursor?.before === true),
    count,
    many: typeof count === 'number' && count > 0 ? source.hasMany?.(count) : undefined,
    known: known && totalFragment(collection.number),
    source,
    conditions: request.conditions.map(condition),
    document: form === 'printed' ? serializer.document(request.select) : valuesOf(serializer.data(request.select)),
    separator: form === 'printed' ? "','" : line,
    bytes: serializer.bytes(request.select),
    version: versionOf(collection, request),
  };
}

function sharedList(deps: Deps, collection: Collection, request: DocumentQuery, page: ListPage) {
  const { dialect, facts } = deps.sql;
  if (request.isRandom || !request.conditions.every(dialect === 'postgres' ? isEquality : isOfSingleValues))
    return undefined;
  const { visibility, route, widest, cursor, count, form, known } = page;
  if (cursor !== null && !isShortOrder(request.orders)) return undefined;
  if (facts.parsesListsPerRow && route === 'walk' && visibility.length > fewRoles) return undefined;
  const shared = deps.cache.get(request) ?? new Map<string, SharedPage>();
  deps.cache.set(request, shared);
  // The condition after a null is different.
  const nulls = cursor?.map((value) => (value === null ? 'n' : 'v')).join('') ?? '';
  const key = `${route} ${widest === undefined} ${count} ${form} ${known === undefined} ${nulls}`;
  const queryOf = shared.get(key) ?? sharedPage(deps.sql, pageOf(deps, collection, request, page));
  shared.set(key, queryOf);
  return queryOf(page);
}

/** Version of the collection's schema, followed by those of the related collections that conditions name, separated by commas. */
function versionOf(collection: Collection, { related }: DocumentQuery): Fragment {
  const version = '(select version from collections where number = ?)';
  if (related.length === 0) return { sql: version, values: [collection.number] };
  const numbers = [collection, ...related].map(({ number }) => number);
  return { sql: numbers.map(() => `coalesce(cast(${version} as text), '')`).join(" || ',' || "), values: numbers };
}
