import { documentTable } from '#src/platform/db/collection-tables.js';
import { type DialectName, dialectWords } from '#src/platform/db/dialect-words.js';
import type { Query, Sql, Value } from '#src/platform/db/query.js';
import { type SharedQuery, sharedColumn } from '#src/platform/db/shared-read.js';
import { type Fragment, join } from '#src/platform/list-query/index.js';
import { type Collection, currentLayout } from '../../databases/index.js';
import { orderColumns, orderText } from './compile.js';
import { type TotalFragment, totalWithState } from './known-totals.js';
import { type DocumentQuery, type Field, isEquality } from './parse.js';
import { type CallParameters, filled, type Slot, type SlottedFragment, slots } from './slots.js';
import type { DocumentSource } from './sources.js';

/** Limit of a list's count: no count, exact, or up to a number. */
export type CountUpTo = 0 | 'exact' | number;

/** Parts of the statement of a page. */
interface Page {
  readonly collection: Collection;
  readonly request: DocumentQuery;
  readonly source: DocumentSource;
  /** Conditions of the query, in addition to the source's filter. */
  readonly conditions: readonly Fragment[];
  /** Condition for documents after the cursor's document in the order; null without a cursor. */
  readonly afterCursor: SlottedFragment | null;
  readonly count: CountUpTo;
  /** Condition that is true if at least as many documents exist as a list without conditions counts. */
  readonly many: SlottedFragment | undefined;
  /** A total that may still hold; undefined if the list always counts. */
  readonly known: TotalFragment | undefined;
  /** A document, printed. */
  readonly document: Fragment;
  /** SQL of the separator between two documents. */
  readonly separator: string;
  /** Lower bound of the bytes of a document. */
  readonly bytes: Fragment;
  /** The version of the collection's schema. */
  readonly version: Fragment;
}

/** Collects the values of a statement while its text is written, from left to right. */
interface Places {
  readonly put: (fragment: SlottedFragment) => string;
  /** The same for values that differ between calls that share the statement. */
  readonly putOwn: (fragment: SlottedFragment) => string;
}

/** Largest offset for reading rows at once. Beyond it the index alone skips documents, without reading them. */
const nearBegin = 100;

/** Makes the statement of one call, which reads a page of a list and its total from the same state of the database. */
export function pageStatement(sql: Sql, page: Page, call: CallParameters): Query {
  const { put, values } = createPlaces();
  const text = columnsOf(sql.dialect, page, { put, putOwn: put });
  return { ...sql.text(`select ${text}`, filled(values, call, sql)), allText: true };
}

/** Makes the queries of calls that differ in the values of slots only. */
export type SharedPage = (call: CallParameters) => SharedQuery;

/** Makes the same statement for several calls. */
export function sharedPage(sql: Sql, page: Page): SharedPage {
  const { put, values } = createPlaces();
  const own = createOwnPlaces();
  const columns = columnsOf(sql.dialect, page, { put, putOwn: own.put });
  const key = `${columns} ${JSON.stringify(values)}`;
  return (call) => ({
    columns,
    values: filled(values, call, sql),
    places: own.places,
    own: filled(own.values, call, sql),
    key: call.widest === undefined ? key : `${key} ${call.widest}`,
  });
}

function columnsOf(dialect: DialectName, page: Page, places: Places): string {
  const { filter } = page.source;
  const filters = [...(filter === undefined ? [] : [filter]), ...page.conditions];
  const matching = filters.length === 0 ? undefined : join(filters, ' and ');
  const version = places.put(page.version);
  const printed = dialect === 'sqlite' ? printedBySqlite : printedByPostgres;
  const total = knownOrCounted(page, matching, places);
  return `cast(${version} as text) as version, cast(${total} as text) as total, (${printed(page, matching, places)}) as documents`;
}

function knownOrCounted(page: Page, matching: SlottedFragment | undefined, places: Places): string {
  const { known } = page;
  if (known === undefined) return counted(page, matching, places);
  const holds = places.putOwn(known.holds);
  const total = counted(page, matching, places);
  return totalWithState(holds, places.putOwn(known.named), total);
}

function counted(page: Page, matching: SlottedFragment | undefined, { put, putOwn }: Places): string {
  if (page.count === 0) return '0';
  if (page.conditions.length === 0) {
    if (page.many === undefined) return putOwn(page.source.total(page.count));
    const many = put(page.many);
    return `case when ${many} then ${page.count} else ${putOwn(page.source.total(page.count))} end`;
  }
  const rows = `from ${putOwn(page.source.from)}${matching === undefined ? '' : ` where ${putOwn(matching)}`}`;
  if (page.count === 'exact') return `(select count(*) ${rows})`;
  return `(select count(*) from (select 1 ${rows} limit ${page.count}) as matching)`;
}

/**
 * Prints the documents of the page as one text, or `!` and the byte count if they exceed the limit. It measures the whole text, because
 * measuring each document would read it twice. Far longer texts fail at SQLite's limit for the length of a text.
 */
function printedBySqlite(page: Page, matching: SlottedFragment | undefined, places: Places): string {
  const again = ` order by ${orderText(page.request, 'sqlite', false)}`;
  const maxBytes = places.putOwn(maxBytesOf('sqlite'));
  const document = `select ${places.put(page.document)} as document`;
  // A cross join keeps the order of its left side, so only a page read backwards has to be sorted again.
  const order = page.request.cursor?.before === true ? again : '';
  // Finds the page before printing it. Otherwise the sorter would carry every matching document.
  const at = `(select seq as at ${found('sqlite', page, matching, places)}) as page`;
  const documents = `${document} from ${at} cross join ${tableOf(page)} on seq = at${order}`;
  const text = `select group_concat(document, ${page.separator}) as text from (${documents}) as documents`;
  return `select case when octet_length(text) > ${maxBytes} then '!' || octet_length(text) else coalesce(text, '') end from (${text}) as whole`;
}

/**
 * The same for Postgres. It first finds the page with the lengths of its documents. It reads the documents only if they fit, because
 * out-of-line values are costly. The lengths of reprinted rows are not known in advance, so it also measures the text.
 */
function printedByPostgres(page: Page, matching: SlottedFragment | undefined, places: Places): string {
  const again = ` order by ${orderText(page.request, 'postgres', false)}`;
  const document = `case when bytes <= most then ${places.put(page.document)} end as document`;
  // Measuring and sorting do not fetch out-of-line values.
  const measured = `sum(${places.put(page.bytes)}) over () as bytes, ${places.putOwn(maxBytesOf('postgres'))} as most`;
  const rows = isIndexed(page)
    ? `(select * ${found('postgres', page, matching, places)}) as page`
    : `(select seq as at ${found('postgres', page, matching, places)}) as page join ${tableOf(page)} on seq = at`;
  const documents = `select ${document}, bytes, most from (select *, ${measured} from ${rows}) as measured${again}`;
  const whole = `select max(most) as most, max(bytes) as bytes, string_agg(document, ${page.separator}) as text from (${documents}) as documents`;
  return `select case when bytes > most then '!' || bytes when octet_length(text) > most then '!' || octet_length(text) else coalesce(text, '') end from (${whole}) as whole`;
}

const maxBytesOf = (dialect: DialectName): SlottedFragment => ({
  sql: dialectWords[dialect].typed('integer'),
  values: [slots.maxBytes],
});

function found(
  dialect: DialectName,
  page: Page,
  matching: SlottedFragment | undefined,
  { put, putOwn }: Places,
): string {
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
  return `from ${from}${where}${once} order by ${orderText(request, dialect, before)} limit ${request.limit}${offset}`;
}

/** True if an index contains exactly the matching documents in the order of the list, and the page is near its start. */
function isIndexed(page: Page): boolean {
  const { collection, request, afterCursor, source } = page;
  const { conditions, orders, offset, isRandom } = request;
  if (offset > nearBegin || source.repeats || isRandom) return false;
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

/** True if a list is ordered by one of the times that every collection indexes. A cursor is a position in that index. */
function isByTime({ collection, request: { orders } }: Page): boolean {
  const [first] = orders;
  const isTime = first?.field.kind === 'system' && ['$createdAt', '$updatedAt'].includes(first.field.name);
  return orders.length === 1 && isTime && collection.layout === currentLayout;
}

const keyOf = (field: Field) => (field.kind === 'attribute' ? field.attribute.key : field.name);

const tableOf = ({ collection }: Page) => documentTable(collection.number);

function createPlaces() {
  const values: (Value | Slot)[] = [];
  const put = (fragment: SlottedFragment): string => {
    values.push(...fragment.values);
    return fragment.sql;
  };
  return { put, values };
}

/** Moves placeholders with their casts into the table of values, and replaces them with its columns. */
function createOwnPlaces() {
  const values: (Value | Slot)[] = [];
  const places: string[] = [];
  const placeholders = new Map<SlottedFragment, string>();
  const put = (fragment: SlottedFragment): string => {
    const before = placeholders.get(fragment);
    if (before !== undefined) return before;
    values.push(...fragment.values);
    const text = fragment.sql.replace(/cast\(\? as [a-z ]+(\[\])?\)|\?/g, (place) =>
      sharedColumn(places.push(place) - 1),
    );
    placeholders.set(fragment, text);
    return text;
  };
  return { put, values, places };
}
