import type { AnswerRoom, Look } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { answerLimits } from '#src/contract/limits.js';
import type { Reading } from '#src/contract/reading.js';
import type { Sql, Value } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Database, Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type ListField, parseListQueries, vocabularyOf } from './fields.js';
import { type Columns, createCompiler } from './query/compile.js';
import { afterCursor, type OrderColumn, orderBy } from './query/order.js';
import type { ListQuery, Order } from './query/parse.js';
import { searchTermsIn } from './query/search-terms.js';

/** A list of rows of the product's own tables. */
interface Listing {
  /** Every row of the list, before anything was asked, such as the users of a project. */
  readonly rows: ReturnType<Sql['knex']>;
  readonly select: ReturnType<Sql['knex']['raw']>;
  /** What queries may speak of, by the names on the wire; `$id` and `$createdAt` must be among them. */
  readonly fields: Readonly<Record<string, ListField>>;
  /** The columns that `search` looks into. */
  readonly search?: readonly string[];
  /** What decides the order where nothing was asked; `$createdAt` where absent. */
  readonly sequence?: ListField;
  /** The columns of `select`, where they are not `packed` alone. */
  readonly columns?: readonly string[];
  /** What a row can have at most; a page that cannot pass its bound is not measured. */
  readonly rowBytes?: number;
}

/** What a caller asked of a list, as `listParameters` parses it. */
export interface ListRequest {
  readonly queries: readonly string[];
  readonly search?: string;
  readonly total: boolean;
  /** The bytes that the answer may have. */
  readonly room: AnswerRoom;
  /** In whose share of the database it is read. */
  readonly reading?: Reading;
}

/** What decides which entries a page has. */
export type ListQueries = Pick<ListRequest, 'queries' | 'search' | 'total'>;

/** What the caller of an operation asked of its list. */
export function listRequestOf<Q extends ListQueries>(call: {
  readonly query: Q;
  readonly request: { readonly answer: AnswerRoom; readonly reading: Reading };
}): Q & ListRequest {
  return { ...call.query, room: call.request.answer, reading: call.request.reading };
}

/**
 * Looks at a list within the bytes of its answer, in the caller's share of the database, each time at one state of it. Throws Failure
 * `general_answer_too_large`.
 */
export function readList<T>(
  db: Database,
  { room, reading }: Pick<ListRequest, 'room' | 'reading'>,
  look: (snapshot: Reader, maxBytes: number) => Promise<Look<T>>,
): Promise<T> {
  return room.read((maxBytes) => db.lists(reading).snapshot((snapshot) => look(snapshot, maxBytes)));
}

/** The rows of a page, and how many there are in all pages. */
interface Found {
  readonly total: number;
  readonly rows: Row[];
}

type Position = { readonly columns: readonly OrderColumn[]; readonly at: readonly Value[] | null };

/** Lists of the product's own rows, in the query language that documents are listed by. */
export function createLists({ sql }: Pick<Runtime, 'sql'>) {
  const { dialect, knex } = sql;
  const ordered = ({ column, type }: ListField) =>
    dialect === 'postgres' && type === 'text' ? `${column} collate "C"` : column;
  const columns: Columns<ListField> = { equal: ({ column }) => column, ordered, kindOf };
  const condition = createCompiler<ListField>(sql, columns);

  const fieldOf = ({ fields }: Listing, name: string): ListField => vocabularyOf(fields).field(name);
  const orderOf = (listing: Listing, orders: readonly Order<ListField>[]): OrderColumn[] => {
    const created = listing.sequence ?? fieldOf(listing, '$createdAt');
    const [first] = orders;
    const falls = first !== undefined && first.field.type === 'instant' && first.descending;
    const rest = [created, fieldOf(listing, '$id')]
      .filter(({ column }) => !orders.some(({ field }) => field.column === column))
      .map((field) => ({ field, descending: falls }));
    return [...orders, ...rest].map(({ field, descending }) => ({
      column: ordered(field),
      descending,
      nullable: field.nullable === true,
    }));
  };
  /** Where the cursor's row stands in the order. Throws Failure `general_cursor_not_found`. */
  const positionOf = async (reader: Reader, listing: Listing, query: ListQuery<ListField>): Promise<Position> => {
    const order = orderOf(listing, query.orders);
    if (query.cursor === null) return { columns: order, at: null };
    const values = order.map(({ column }, index) => knex.raw(`${column} as ??`, [`c${index}`]));
    const { column } = fieldOf(listing, '$id');
    const row = await reader.one(sql.compile(listing.rows.clone().where(column, query.cursor.id).select(values)));
    if (row === undefined) throw new Failure('general_cursor_not_found');
    return { columns: order, at: order.map((_, index) => row[`c${index}`] ?? null) };
  };
  const pageOf = async (reader: Reader, listing: Listing, query: ListQuery<ListField>, matching: Listing['rows']) => {
    const { columns, at } = await positionOf(reader, listing, query);
    const before = query.cursor?.before === true;
    const page = matching.clone();
    if (at !== null) {
      const beyond = afterCursor(columns, at, before);
      page.whereRaw(beyond.sql, [...beyond.values]);
    }
    page
      .orderByRaw(orderBy(columns, dialect, before))
      .limit(query.limit)
      .offset(query.offset)
      .select(listing.select);
    // A builder would run as soon as it is awaited.
    return { page };
  };
  /** How many bytes a page has. */
  const measure = async (reader: Reader, { columns: names = ['packed'] }: Listing, page: Listing['rows']) => {
    // As identifiers: `user` by itself is somebody else in Postgres.
    const lengths = names.map(() => 'coalesce(octet_length(??), 0)').join(' + ');
    const bytes = knex.raw(`sum(${lengths}) as bytes`, [...names]);
    const row = await reader.one(sql.compile(knex(page.clone().as('page')).select(bytes)));
    return Number(row?.bytes ?? 0);
  };
  const sizeOf = (rows: readonly Row[]): number => {
    let bytes = 0;
    for (const row of rows)
      for (const name in row) if (typeof row[name] === 'string') bytes += Buffer.byteLength(String(row[name]));
    return bytes;
  };

  const lists = {
    /**
     * A page of a list, and how many rows match in all pages, 0 where the caller does not want to know; or only how many bytes it has, where that is
     * more than it may have. Ask it of a snapshot. Throws Failure `general_argument_invalid` and `general_cursor_not_found`.
     */
    page: async (reader: Reader, listing: Listing, request: ListQueries, maxBytes: number): Promise<Look<Found>> => {
      const query = parseListQueries(request.queries, listing.fields);
      const filters = query.conditions.map(condition);
      if (request.search && listing.search) filters.push(searchTermsIn(listing.search, request.search, sql));
      const matching = listing.rows.clone();
      for (const filter of filters) matching.whereRaw(filter.sql, [...filter.values]);
      const { page } = await pageOf(reader, listing, query, matching);
      if (query.limit * (listing.rowBytes ?? answerLimits.rowBytes) > maxBytes) {
        const bytes = await measure(reader, listing, page);
        if (bytes > maxBytes) return { bytes };
      }
      const rows = await reader.all(sql.compile(page));
      if (query.cursor?.before === true) rows.reverse();
      const counted = request.total ? await reader.one(sql.compile(matching.clone().count({ total: '*' }))) : undefined;
      return { bytes: sizeOf(rows), value: { total: Number(counted?.total ?? 0), rows } };
    },
    /** A page of a list on which nothing else depends, read as `readList` does. */
    read: (db: Database, listing: Listing, request: ListRequest): Promise<Found> =>
      readList(db, request, (snapshot, maxBytes) => lists.page(snapshot, listing, request, maxBytes)),
  };
  return lists;
}

/** What a column of ours is: truth values are stored as 1 and 0. */
function kindOf({ type }: ListField): 'integer' | 'text' {
  return type === 'boolean' || type === 'integer' ? 'integer' : 'text';
}

/** Lists of the product's own rows. */
export type Lists = ReturnType<typeof createLists>;
