import { documentTable } from '#src/platform/db/collection-tables.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import { type SharedQuery, sharedColumn } from '#src/platform/db/shared-read.js';
import { type Fragment, join, orderBy } from '#src/platform/list-query/index.js';
import { type Collection, currentLayout } from '../../databases/index.js';
import { orderColumns } from './compile.js';
import { type DocumentQuery, type Field, isEquality } from './parse.js';
import type { Source } from './sources.js';

/** How far a list counts: not at all, exactly, or up to a number. */
export type CountUpTo = 0 | 'exact' | number;

/** What a page of a list is made of. */
interface Page {
  readonly collection: Collection;
  readonly request: DocumentQuery;
  readonly source: Source;
  /** What every document of the list fulfils besides. */
  readonly conditions: readonly Fragment[];
  /** What comes after the cursor's document in the order. */
  readonly afterCursor: Fragment | null;
  readonly count: CountUpTo;
  /** A condition that holds where there are as many documents as a list without conditions counts. */
  readonly many: Fragment | undefined;
  /** A document, printed. */
  readonly document: Fragment;
  /** What stands between two documents, as SQL. */
  readonly separator: string;
  /** How many bytes it has at least. */
  readonly bytes: Fragment;
  /** The bytes that the documents may have together. */
  readonly maxBytes: Fragment;
  /** The version of the collection's schema. */
  readonly version: Fragment;
}

/** Takes the values of a statement while its text is written, from left to right. */
interface Places {
  readonly put: (fragment: Fragment) => string;
  /** The same for values that differ between calls which share the statement. */
  readonly putOwn: (fragment: Fragment) => string;
}

/** A page whose statement calls share, with where the bytes and the cursor stand among a call's own values, and the role of `many`, twice, among the others. */
export interface SharedPage extends SharedQuery {
  readonly maxBytesAt: number;
  readonly cursorAt: number;
  readonly manyAt: number;
}

/** Skipping more documents than this is left to the index alone, which need not look at them. */
const nearBegin = 100;

/** A page of a list and its total in one statement, so that both are of one state of the database. */
export function createPageStatements(sql: Sql) {
  const { dialect } = sql;

  const found = (page: Page, matching: Fragment | undefined, { put, putOwn }: Places): string => {
    const { request, afterCursor } = page;
    const columns = orderColumns(request.orders, dialect);
    const before = request.cursor?.before === true;
    const from = putOwn(page.source.from);
    const conditions = [
      ...(matching === undefined ? [] : [putOwn(matching)]),
      ...(afterCursor === null ? [] : [putOwn(afterCursor)]),
    ];
    const where = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
    const once = page.source.repeats ? ` group by ${columns.map(({ column }) => column).join(', ')}` : '';
    const offset = request.offset === 0 ? '' : ` offset ${put({ sql: '?', values: [request.offset] })}`;
    return `from ${from}${where}${once} order by ${orderBy(columns, dialect, before)} limit ${request.limit}${offset}`;
  };
  /**
   * The documents of the page as one text; where they have more bytes than they may, `!` and how many. The text is measured as a whole: asking
   * for the length of each document would read each twice. SQLite's limit for the length of a text ends what is far beyond.
   */
  const printedBySqlite = (page: Page, matching: Fragment | undefined, places: Places): string => {
    const again = ` order by ${orderBy(orderColumns(page.request.orders, dialect), dialect, false)}`;
    const maxBytes = places.putOwn(page.maxBytes);
    const document = `select ${places.put(page.document)} as document`;
    // A cross join keeps the order of its left side, so only a page read backwards has to be sorted again.
    const order = page.request.cursor?.before === true ? again : '';
    // The page is found first and printed then: a sorter would otherwise carry along every document that matches.
    const at = `(select seq as at ${found(page, matching, places)}) as page`;
    const documents = `${document} from ${at} cross join ${tableOf(page)} on seq = at${order}`;
    const text = `select group_concat(document, ${page.separator}) as text from (${documents}) as documents`;
    return `select case when octet_length(text) > ${maxBytes} then '!' || octet_length(text) else coalesce(text, '') end from (${text}) as whole`;
  };
  /**
   * The same for Postgres: the page is found first, with the lengths of its documents; only then, and only if they fit, the documents are read,
   * as values out of line are costly. Of rows that are printed anew the lengths are not known before, so the text itself is measured, too.
   */
  const printedByPostgres = (page: Page, matching: Fragment | undefined, places: Places): string => {
    const again = ` order by ${orderBy(orderColumns(page.request.orders, dialect), dialect, false)}`;
    const document = `case when bytes <= most then ${places.put(page.document)} end as document`;
    // Long values are not fetched for their lengths, nor to be carried along.
    const measured = `sum(${places.put(page.bytes)}) over () as bytes, ${places.putOwn(page.maxBytes)} as most`;
    const rows = isIndexed(page)
      ? `(select * ${found(page, matching, places)}) as page`
      : `(select seq as at ${found(page, matching, places)}) as page join ${tableOf(page)} on seq = at`;
    const documents = `select ${document}, bytes, most from (select *, ${measured} from ${rows}) as measured${again}`;
    const whole = `select max(most) as most, max(bytes) as bytes, string_agg(document, ${page.separator}) as text from (${documents}) as documents`;
    return `select case when bytes > most then '!' || bytes when octet_length(text) > most then '!' || octet_length(text) else coalesce(text, '') end from (${whole}) as whole`;
  };
  const printed = dialect === 'sqlite' ? printedBySqlite : printedByPostgres;
  const counted = (page: Page, matching: Fragment | undefined, { put, putOwn }: Places): string => {
    if (page.count === 0) return '0';
    if (page.conditions.length === 0) {
      if (page.many === undefined) return putOwn(page.source.total(page.count));
      const many = put(page.many);
      return `case when ${many} then ${page.count} else ${putOwn(page.source.total(page.count))} end`;
    }
    const rows = `from ${putOwn(page.source.from)}${matching === undefined ? '' : ` where ${putOwn(matching)}`}`;
    if (page.count === 'exact') return `(select count(*) ${rows})`;
    return `(select count(*) from (select 1 ${rows} limit ${page.count}) as matching)`;
  };
  const columnsOf = (page: Page, places: Places): string => {
    const { filter } = page.source;
    const filters = [...(filter === undefined ? [] : [filter]), ...page.conditions];
    const matching = filters.length === 0 ? undefined : join(filters, ' and ');
    const version = places.put(page.version);
    const total = counted(page, matching, places);
    return `cast(${version} as text) as version, cast(${total} as text) as total, (${printed(page, matching, places)}) as documents`;
  };

  return {
    /** For one call. */
    alone: (page: Page): Query => {
      const { put, values } = createPlaces();
      const text = columnsOf(page, { put, putOwn: put });
      return { ...sql.text(`select ${text}`, values), allText: true };
    },
    /** For calls that ask the same of different values. */
    shared: (page: Page): SharedPage => {
      const { put, values, positionOf } = createPlaces();
      const own = createOwnPlaces();
      const columns = columnsOf(page, { put, putOwn: own.put });
      const maxBytesAt = own.positionOf(page.maxBytes);
      const cursorAt = page.afterCursor === null ? -1 : own.positionOf(page.afterCursor);
      const manyAt = page.many === undefined ? -1 : positionOf(page.many);
      return {
        columns,
        values,
        places: own.places,
        own: own.values,
        maxBytesAt,
        cursorAt,
        manyAt,
        key: `${columns} ${JSON.stringify(values)}`,
      };
    },
  };
}

/** Whether an index holds exactly the documents that match, in the order of the list, and the page is near its begin. */
function isIndexed(page: Page): boolean {
  const { collection, request, afterCursor, source } = page;
  const { conditions, orders, offset } = request;
  if (offset > nearBegin || source.repeats) return false;
  if (conditions.length === 0 && isByTime(page)) return true;
  if (afterCursor !== null) return false;
  if (orders.length === 0) return conditions.length === 0;
  const fixed = new Set(conditions.map((one) => (isEquality(one) ? keyOf(one.field) : undefined)));
  return collection.indexes.some(
    (index) =>
      index.type !== 'fulltext' &&
      index.attributes.slice(0, fixed.size).every((key) => fixed.has(key)) &&
      orders.every(({ field, descending }, at) => {
        const place = fixed.size + at;
        return index.attributes[place] === keyOf(field) && (index.orders[place] === 'DESC') === descending;
      }),
  );
}

/** Whether a list is in the order of one of the times that every collection has an index of; a cursor is a place in that index. */
function isByTime({ collection, request: { orders } }: Page): boolean {
  const [first] = orders;
  const isTime = first?.field.kind === 'system' && ['$createdAt', '$updatedAt'].includes(first.field.name);
  return orders.length === 1 && isTime && collection.layout === currentLayout;
}

const keyOf = (field: Field) => (field.kind === 'attribute' ? field.attribute.key : field.name);

const tableOf = ({ collection }: Page) => documentTable(collection.number);

function createPlaces() {
  const values: Value[] = [];
  const firsts = new Map<Fragment, number>();
  const put = (fragment: Fragment): string => {
    firsts.set(fragment, values.length);
    values.push(...fragment.values);
    return fragment.sql;
  };
  return { put, values, positionOf: (fragment: Fragment) => firsts.get(fragment) ?? -1 };
}

/** Moves the places of values, with their casts, into the table of values, and puts its columns where they stood. */
function createOwnPlaces() {
  const values: Value[] = [];
  const places: string[] = [];
  const placeholders = new Map<Fragment, string>();
  const firsts = new Map<Fragment, number>();
  const put = (fragment: Fragment): string => {
    const before = placeholders.get(fragment);
    if (before !== undefined) return before;
    firsts.set(fragment, values.length);
    values.push(...fragment.values);
    const text = fragment.sql.replace(/cast\(\? as [a-z ]+(\[\])?\)|\?/g, (place) =>
      sharedColumn(places.push(place) - 1),
    );
    placeholders.set(fragment, text);
    return text;
  };
  return { put, values, places, positionOf: (fragment: Fragment) => firsts.get(fragment) ?? -1 };
}
