import { Failure } from '#src/contract/errors.js';
import { answerLimits, queryBounds } from '#src/contract/limits.js';
import { type ReadFacts, readFactsOf } from '#src/contract/operation.js';
import type { Reading } from '#src/contract/reading.js';
import type { ResponseBudget } from '#src/contract/response-budget.js';
import type { Config } from '#src/platform/config/schema.js';
import { type AnswerReader, readAnswer } from '#src/platform/db/answer-reader.js';
import type { Sql, Value } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import { raw, type SqlPart } from '#src/platform/db/template.js';
import type { Database, Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { type ListField, vocabularyOf } from './fields.js';
import { createConditionCompiler } from './query/compile.js';
import type { Condition } from './query/condition.js';
import type { Fragment } from './query/fragment.js';
import { afterCursor, type OrderColumn, orderBy } from './query/order.js';
import { type ListQuery, parseListQuery } from './query/parse.js';
import { type ListDeps, type ListDescription, type ListRows, narrowed } from './rows.js';
import { countRows, type Searched, searched } from './search.js';
import { requireNearOffset, requireServed } from './served.js';

/** The parameters of a list request, parsed by `listParameters`. */
export interface ListRequest {
  readonly queries: readonly string[];
  readonly search?: string;
  readonly total: boolean;
  /** The memory budget of the response. */
  readonly budget: ResponseBudget;
  /** The caller whose database quota the list uses. */
  readonly reading?: Reading;
}

/** The parameters that select the entries of a page. */
export type ListQueries = Pick<ListRequest, 'queries' | 'search' | 'total'>;

/** The list request of an operation's caller. */
export function listRequestOf<Q extends ListQueries>(call: {
  readonly query: Q;
  readonly request: ReadFacts;
}): Q & ListRequest {
  return { ...call.query, ...readFactsOf(call.request) };
}

/** The rows of a page, and the number of rows in all pages. */
interface Found {
  readonly total: number;
  readonly rows: Row[];
}

/** A reader, with the bytes of its response if it reads for one. */
type ListReader = Reader & Partial<AnswerReader>;

type Position = { readonly columns: readonly OrderColumn[]; readonly at: readonly Value[] | null };

/** Lists of the service's own rows. */
export interface Lists {
  /**
   * A page of a list, and the number of rows in all pages, 0 if it was not requested. Use it with a snapshot, in `readAnswer` if it is for a
   * response. Throws Failure `general_argument_invalid` and `general_cursor_not_found`.
   */
  page(reader: ListReader, listing: ListDescription, request: ListQueries): Promise<Found>;
  /** A page of a list, read by itself with `readAnswer`. */
  read(db: Database, listing: ListDescription, request: ListRequest): Promise<Found>;
}

interface Deps extends ListDeps {
  readonly compile: (condition: Condition<ListField>) => Fragment;
}

/** Lists of the service's own rows, with the query language of documents. */
export function createLists({
  sql,
  config: { totalLimit },
}: Pick<Runtime, 'sql'> & { readonly config: Pick<Config, 'totalLimit'> }): Lists {
  const ordered = (field: ListField) => orderedColumn(sql, field);
  const compile = createConditionCompiler<ListField>(sql, { equal: ({ column }) => column, ordered, kindOf });
  return bind({ sql, compile, totalLimit, few: totalLimit || queryBounds.limit }, { page, read });
}

function read(deps: Deps, db: Database, listing: ListDescription, request: ListRequest): Promise<Found> {
  return readAnswer(db, request, (snapshot) => page(deps, snapshot, listing, request));
}

async function page(deps: Deps, reader: ListReader, listing: ListDescription, request: ListQueries): Promise<Found> {
  const { sql, compile } = deps;
  const query = parseListQuery(vocabularyOf(listing.fields), request.queries);
  requireNearOffset(query);
  const rows = narrowed(sql, listing.rows, query.conditions.map(compile));
  await requireServed(deps, reader, listing, query);
  const found = await searched(deps, reader, { ...listing, rows }, request.search ?? '');
  return printed(deps, reader, listing, query, request, found);
}

async function printed(
  deps: Deps,
  reader: ListReader,
  listing: ListDescription,
  query: ListQuery<ListField>,
  request: ListQueries,
  { matching, total: known, upTo }: Searched,
): Promise<Found> {
  const { sql, totalLimit } = deps;
  const selected = selectPage(sql, listing, query, matching, await positionOf(sql, reader, listing, query));
  const { bytes } = reader;
  if (bytes !== undefined && query.limit * (listing.rowBytes ?? answerLimits.rowBytes) > bytes.left)
    bytes.require(await measure(sql, reader, listing, selected));
  const rows = await reader.all(selected);
  if (query.cursor?.before === true) rows.reverse();
  const total = request.total ? (known ?? (await countRows(sql, reader, matching, upTo ?? totalLimit))) : 0;
  bytes?.count(sizeOf(rows));
  return { total, rows };
}

/** The position of the cursor's row in the order. Throws Failure `general_cursor_not_found`. */
async function positionOf(
  sql: Sql,
  reader: Reader,
  listing: ListDescription,
  query: ListQuery<ListField>,
): Promise<Position> {
  const order = orderOf(sql, listing, query.orders);
  if (query.cursor === null) return { columns: order, at: null };
  const values = raw(order.map(({ column }, index) => `${column} as c${index}`).join(', '));
  const { from, where } = listing.rows;
  const isCursor = sql`${raw(fieldOf(listing, '$id').column)} = ${query.cursor.id}`;
  const row = await reader.one(sql`select ${values} from ${from} where ${where} and ${isCursor}`);
  if (row === undefined) throw new Failure('general_cursor_not_found');
  return { columns: order, at: order.map((_, index) => row[`c${index}`] ?? null) };
}

function orderOf(sql: Sql, listing: ListDescription, orders: ListQuery<ListField>['orders']): OrderColumn[] {
  const created = listing.sequence ?? fieldOf(listing, '$createdAt');
  const [first] = orders;
  // An index is read backwards then.
  const falls = first?.descending === true && (first.field.type === 'instant' || first.field.index === 'order');
  const rest = [created, fieldOf(listing, '$id')]
    .filter(({ column }) => !orders.some(({ field }) => field.column === column))
    .map((field) => ({ field, descending: falls }));
  return [...orders, ...rest].map(({ field, descending }) => ({
    column: orderedColumn(sql, field),
    descending,
    nullable: field.nullable === true,
  }));
}

function orderedColumn({ words }: Sql, { column, type }: ListField): string {
  return type === 'text' ? words.byCodePoint(column) : column;
}

function fieldOf({ fields }: ListDescription, name: string): ListField {
  return vocabularyOf(fields).field(name);
}

function selectPage(
  sql: Sql,
  { searchIndex, select }: ListDescription,
  { cursor, limit, offset }: ListQuery<ListField>,
  matching: ListRows,
  { columns, at }: Position,
) {
  const before = cursor?.before === true;
  const { from, where } = at === null ? matching : narrowed(sql, matching, [afterCursor(columns, at, before)]);
  const order = raw(orderBy(columns, sql.dialect, before));
  const rows = sql`
    from ${from} where ${where} order by ${order} limit ${limit} ${offset > 0 && sql`offset ${offset}`}`;
  if (sql.dialect === 'sqlite' || searchIndex === undefined || offset === 0) return sql`select ${select} ${rows}`;
  // Postgres would also print the rows that it skips.
  const table = raw(searchIndex.table);
  return sql`select ${select} from (select ${table}.* ${rows}) as ${table} order by ${order}`;
}

/** Size of a page in bytes. */
async function measure(
  sql: Sql,
  reader: Reader,
  { columns = ['packed'] }: ListDescription,
  page: SqlPart,
): Promise<number> {
  // Quoted as identifiers: an unquoted `user` is the current user in Postgres.
  const lengths = raw(columns.map((name) => `coalesce(octet_length("${name}"), 0)`).join(' + '));
  const row = await reader.one(sql`select sum(${lengths}) as bytes from (${page}) as page`);
  return Number(row?.bytes ?? 0);
}

function sizeOf(rows: readonly Row[]): number {
  let bytes = 0;
  for (const row of rows)
    for (const name in row) if (typeof row[name] === 'string') bytes += Buffer.byteLength(String(row[name]));
  return bytes;
}

/** Storage of a column: booleans are stored as 1 and 0. */
function kindOf({ type }: ListField): 'integer' | 'text' {
  return type === 'boolean' || type === 'integer' ? 'integer' : 'text';
}
