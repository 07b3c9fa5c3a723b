import { documentTable, readersTable } from '#src/platform/db/collection-tables.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import type { SharedQuery } from '#src/platform/db/shared-read.js';
import { type Fragment, join, type Order, orderBy } from '../../../platform/list-query/index.js';
import type { Collection } from '../databases/index.js';
import { createCompiler, orderColumns } from './query/compile.js';
import { type CountUpTo, createPageStatements } from './query/page.js';
import { type DocumentQuery, type Field, isEquality, isOfSingleValues, typeOf } from './query/parse.js';
import { createSources, fewRoles, type Route, type Visibility } from './query/sources.js';
import { columnArray } from './row.js';
import type { Serializers } from './serializer.js';

/** How a page is returned: as one text, or as values. */
export type PageForm = 'printed' | 'values';

/** What decides on a page of a list, besides the query. */
export interface ListPage {
  readonly visibility: Visibility;
  readonly route: Route;
  /** Where the cursor's document stands in the order. */
  readonly cursor: readonly Value[] | null;
  readonly count: CountUpTo;
  /** The bytes that the documents may have together. */
  readonly maxBytes: number;
  readonly form: PageForm;
}

/** SQL over pages of lists. Each returns the version of the schema it found. */
export interface ListStore {
  /** How many documents each role may read, up to a number, and as the empty role the last sequence of the collection. */
  readerCounts(collection: Collection, roles: readonly string[], upTo: number): Query;
  /** What a cursor's document has in the columns of an order; 64-bit numbers as text, since drivers round them. */
  cursor(collection: Collection, id: string, orders: readonly Order<Field>[], visibility: Visibility): Query;
  /** Ids and sizes of the documents that a query matches, in its order, locked until the end of the unit. */
  matching(collection: Collection, request: DocumentQuery, limit: number): Query;
  /** A page of a list and its total. */
  list(collection: Collection, request: DocumentQuery, page: ListPage): Query;
  /**
   * The same for lists that share statements; undefined where the values decide how Postgres should go about it, and where SQLite would
   * take a list of values apart for each row, as it stands in a column then.
   */
  sharedList(collection: Collection, request: DocumentQuery, page: Omit<ListPage, 'cursor'>): SharedQuery | undefined;
}

/** Creates the SQL over pages of lists. */
export function createListStore(sql: Sql, serializerOf: Serializers): ListStore {
  const { dialect } = sql;
  const condition = createCompiler(sql);
  const pages = createPageStatements(sql);
  const cache = new WeakMap<DocumentQuery, Map<string, SharedList>>();
  const sourceOf = createSources(sql);
  const pageOf = (collection: Collection, request: DocumentQuery, page: ListPage) => {
    const { visibility, route, cursor, count, maxBytes, form } = page;
    const serializer = serializerOf(collection);
    const line = dialect === 'sqlite' ? 'char(10)' : 'chr(10)';
    const valuesOf = ({ sql: data, values }: Fragment): Fragment => ({
      sql: `${columnArray[dialect]} || ${line} || (${data})`,
      values,
    });
    return {
      collection,
      request,
      cursor,
      count,
      source: sourceOf(collection, visibility, route),
      conditions: request.conditions.map(condition),
      document: form === 'printed' ? serializer.document(request.select) : valuesOf(serializer.data(request.select)),
      separator: form === 'printed' ? "','" : line,
      bytes: serializer.bytes(request.select),
      maxBytes: { sql: dialect === 'postgres' ? 'cast(? as bigint)' : '?', values: [maxBytes] },
      version: { sql: '(select version from collections where number = ?)', values: [collection.number] },
    };
  };

  return {
    readerCounts: (collection, roles, upTo) => {
      const [readers, each] = [
        readersTable(collection.number),
        dialect === 'sqlite' ? 'json_each(?) as granted' : 'unnest(cast(? as text[])) as granted(value)',
      ];
      const ofRole = `select count(*) from (select 1 from ${readers} where role = granted.value limit ${upTo}) as counted`;
      const last = `(select max(seq) from ${documentTable(collection.number)})`;
      return sql.text(
        `select granted.value as role, case when granted.value = '' then coalesce(${last}, 0) else (${ofRole}) end as count from ${each}`,
        [sql.list(roles)],
      );
    },
    cursor: (collection, id, orders, visibility) => {
      const columns = orderColumns(orders).map(({ column }, at) => {
        const field = orders[at]?.field;
        // The tie-break is `seq`.
        const isWhole = field === undefined || typeOf(field).column === 'integer';
        return `${isWhole ? `cast(${column} as text)` : column} as c${at}`;
      });
      const { filter: visible } = sourceOf(collection, visibility, visibility === 'everything' ? 'all' : 'walk');
      const filter = join([{ sql: 'id = ?', values: [id] }, ...(visible === undefined ? [] : [visible])], ' and ');
      const text = `select ${columns.join(', ')} from ${documentTable(collection.number)} where ${filter.sql}`;
      return sql.text(text, filter.values);
    },
    matching: (collection, request, limit) => {
      const { sql: bytes, values } = serializerOf(collection).bytes(null);
      const filter = join(request.conditions.map(condition), ' and ');
      const where = request.conditions.length === 0 ? '' : ` where ${filter.sql}`;
      const order = orderBy(orderColumns(request.orders), dialect, false);
      const lock = dialect === 'postgres' ? ' for update' : '';
      return sql.text(
        `select id, ${bytes} as bytes from ${documentTable(collection.number)}${where} order by ${order} limit ? offset ?${lock}`,
        [...values, ...filter.values, limit, request.offset],
      );
    },
    list: (collection, request, page) => pages.alone(pageOf(collection, request, page)),
    sharedList: (collection, request, page) => {
      if (!request.conditions.every(dialect === 'postgres' ? isEquality : isOfSingleValues)) return undefined;
      const { visibility, route, count, form, maxBytes } = page;
      if (dialect === 'sqlite' && route === 'walk' && visibility.length > fewRoles) return undefined;
      const shared = cache.get(request) ?? new Map<string, SharedList>();
      cache.set(request, shared);
      const key = `${route} ${count} ${form}`;
      let list = shared.get(key);
      if (list === undefined) {
        list = sharedBy((roles) => {
          const ofRoles = visibility === 'everything' ? visibility : roles;
          return pages.shared(pageOf(collection, request, { ...page, visibility: ofRoles, cursor: null }));
        });
        shared.set(key, list);
      }
      return withOwn(list, maxBytes, visibility === 'everything' ? '' : sql.list(visibility));
    },
  };
}

/** A statement that lists of other callers share, and which of its values are the caller's: the bound of the answer, and the roles. */
interface SharedList {
  readonly query: SharedQuery;
  readonly maxBytesAt: number;
  readonly rolesAt: readonly number[];
}

/** The roles stand where two statements of different roles differ. */
function sharedBy(make: (roles: readonly string[]) => SharedQuery & { readonly maxBytesAt: number }): SharedList {
  const [query, other] = [make(['one']), make(['other'])];
  const rolesAt = query.own.flatMap((value, at) => (value === other.own[at] ? [] : [at]));
  return { query, maxBytesAt: query.maxBytesAt, rolesAt };
}

function withOwn({ query, maxBytesAt, rolesAt }: SharedList, maxBytes: number, roles: string): SharedQuery {
  const own = [...query.own];
  own[maxBytesAt] = maxBytes;
  for (const at of rolesAt) own[at] = roles;
  return { ...query, own };
}
