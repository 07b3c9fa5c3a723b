import { documentTable, readersTable } from '#src/platform/db/collection-tables.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import type { SharedQuery } from '#src/platform/db/shared-read.js';
import { afterCursor, type Fragment, join, type Order, orderBy } from '#src/platform/list-query/index.js';
import type { Collection } from '../databases/index.js';
import { createCompiler, isShortOrder, orderColumns } from './query/compile.js';
import { type CountUpTo, createPageStatements, type SharedPage } from './query/page.js';
import { type DocumentQuery, type Field, isEquality, isOfSingleValues, typeOf } from './query/parse.js';
import { createSources, fewRoles, type Route, type Visibility } from './query/sources.js';
import { columnArray, listedIds } from './row.js';
import type { Serializers } from './serializer.js';

/** How a page is returned: as one text, or as values. */
export type PageForm = 'printed' | 'values';

/** What decides on a page of a list, besides the query. */
export interface ListPage {
  readonly visibility: Visibility;
  readonly route: Route;
  /** A role of the caller that was counted to be named by as many documents as the list counts. */
  readonly widest: string | undefined;
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
  /** What documents have in the columns of an order, from `c0` on, with ids and permissions; 64-bit numbers as text, since drivers round them. */
  places(collection: Collection, ids: readonly string[], orders: readonly Order<Field>[]): Query;
  /** Ids and sizes of the documents that a query matches, in its order. */
  matching(collection: Collection, request: DocumentQuery, limit: number): Query;
  /** Which of these documents match its filters still, locked until the end of the unit, in the order of their ids for all units. */
  stillMatching(collection: Collection, request: DocumentQuery, ids: readonly string[]): Query;
  /** A page of a list and its total. */
  list(collection: Collection, request: DocumentQuery, page: ListPage): Query;
  /**
   * The same for lists that share statements; undefined where the values decide how Postgres should go about it, and where SQLite would
   * take a list of values apart for each row, as it stands in a column then.
   */
  sharedList(collection: Collection, request: DocumentQuery, page: ListPage): SharedQuery | undefined;
}

/** Creates the SQL over pages of lists. */
export function createListStore(sql: Sql, serializerOf: Serializers): ListStore {
  const { dialect } = sql;
  const condition = createCompiler(sql);
  const pages = createPageStatements(sql);
  const cache = new WeakMap<DocumentQuery, Map<string, SharedList>>();
  const sourceOf = createSources(sql);
  const beyond = ({ orders, cursor }: DocumentQuery, place: readonly Value[]): Fragment =>
    afterCursor(orderColumns(orders, dialect), place, cursor?.before === true);
  const pageOf = (collection: Collection, request: DocumentQuery, page: ListPage) => {
    const { visibility, route, widest, cursor, count, maxBytes, form } = page;
    const serializer = serializerOf(collection);
    const line = dialect === 'sqlite' ? 'char(10)' : 'chr(10)';
    const valuesOf = ({ sql: data, values }: Fragment): Fragment => ({
      sql: `${columnArray[dialect]} || ${line} || (${data})`,
      values,
    });
    const source = sourceOf(collection, visibility, route, widest);
    return {
      collection,
      request,
      afterCursor: cursor === null ? null : beyond(request, cursor),
      count,
      many: typeof count === 'number' && count > 0 ? source.hasMany?.(count) : undefined,
      source,
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
      // In the order of its key, as Postgres would read the whole table for a role that few documents name where most name another.
      const ofRole = `select count(*) from (select 1 from ${readers} where role = granted.value order by seq limit ${upTo}) as counted`;
      const last = `(select max(seq) from ${documentTable(collection.number)})`;
      return sql.text(
        `select granted.value as role, case when granted.value = '' then coalesce(${last}, 0) else (${ofRole}) end as count from ${each}`,
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
      const oneOf = dialect === 'sqlite' ? 'in (select value from json_each(?))' : '= any(cast(? as text[]))';
      return sql.text(
        `select id, permissions, ${columns.join(', ')} from ${documentTable(collection.number)} where id ${oneOf}`,
        [sql.list(ids)],
      );
    },
    matching: (collection, request, limit) => {
      const { sql: bytes, values } = serializerOf(collection).bytes(null);
      const filter = join(request.conditions.map(condition), ' and ');
      const where = request.conditions.length === 0 ? '' : ` where ${filter.sql}`;
      const order = orderBy(orderColumns(request.orders, dialect), dialect, false);
      return sql.text(
        `select id, ${bytes} as bytes from ${documentTable(collection.number)}${where} order by ${order} limit ? offset ?`,
        [...values, ...filter.values, limit, request.offset],
      );
    },
    stillMatching: (collection, { conditions }, ids) => {
      const { sql: text, values } = join([listedIds(sql, ids), ...conditions.map(condition)], ' and ');
      const lock = dialect === 'postgres' ? ' for update' : '';
      return sql.text(`select id from ${documentTable(collection.number)} where ${text} order by id${lock}`, values);
    },
    list: (collection, request, page) => pages.alone(pageOf(collection, request, page)),
    sharedList: (collection, request, page) => {
      if (!request.conditions.every(dialect === 'postgres' ? isEquality : isOfSingleValues)) return undefined;
      const { visibility, route, widest, cursor, count, form, maxBytes } = page;
      if (cursor !== null && !isShortOrder(request.orders)) return undefined;
      if (dialect === 'sqlite' && route === 'walk' && visibility.length > fewRoles) return undefined;
      const shared = cache.get(request) ?? new Map<string, SharedList>();
      cache.set(request, shared);
      // What comes after a null is another condition.
      const nulls = cursor?.map((value) => (value === null ? 'n' : 'v')).join('') ?? '';
      const key = `${route} ${widest === undefined} ${count} ${form} ${nulls}`;
      let list = shared.get(key);
      if (list === undefined) {
        list = sharedBy(sql, (roles) => {
          const ofRoles = visibility === 'everything' ? visibility : roles;
          return pages.shared(pageOf(collection, request, { ...page, visibility: ofRoles }));
        });
        shared.set(key, list);
      }
      const place = cursor === null ? [] : beyond(request, cursor).values;
      return withOwn(list, maxBytes, visibility === 'everything' ? [] : visibility, sql, place, widest);
    },
  };
}

/** A statement that lists of other callers share, and which of its values are the caller's: the bound of the answer, the roles and the cursor. */
interface SharedList {
  readonly page: SharedPage;
  readonly rolesAt: readonly number[];
  readonly firstRoleAt: readonly number[];
}

/** The roles stand where two statements of different roles differ. */
function sharedBy(sql: Pick<Sql, 'list'>, make: (roles: readonly string[]) => SharedPage): SharedList {
  const [page, other] = [make(['one']), make(['other'])];
  const at = (text: string) => page.own.flatMap((value, at) => (value === text && value !== other.own[at] ? [at] : []));
  return { page, rolesAt: at(sql.list(['one'])), firstRoleAt: at('one') };
}

function withOwn(
  { page, rolesAt, firstRoleAt }: SharedList,
  maxBytes: number,
  roles: readonly string[],
  sql: Pick<Sql, 'list'>,
  place: readonly Value[],
  widest: string | undefined,
): SharedQuery {
  const own = [...page.own];
  own[page.maxBytesAt] = maxBytes;
  const list = rolesAt.length === 0 ? '' : sql.list(roles);
  for (const at of rolesAt) own[at] = list;
  for (const at of firstRoleAt) own[at] = roles[0] ?? '';
  for (const [at, value] of place.entries()) own[page.cursorAt + at] = value;
  if (widest === undefined || page.manyAt < 0) return { ...page, own };
  return { ...page, own, values: page.values.toSpliced(page.manyAt, 2, widest, widest), key: `${page.key} ${widest}` };
}
