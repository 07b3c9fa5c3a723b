import { Failure } from '#src/contract/errors.js';
import type { Sql, Value } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { type ListField, parseListQueries, vocabularyOf } from './fields.js';
import { type Columns, createCompiler } from './query/compile.js';
import { afterCursor, type OrderColumn, orderBy } from './query/order.js';
import type { ListQuery, Order } from './query/parse.js';
import { wordsIn } from './query/words.js';

/** A list of rows of the product's own tables. */
interface Listing {
  /** Every row of the list, before anything was asked, such as the users of a project. */
  readonly rows: ReturnType<Sql['knex']>;
  readonly select: ReturnType<Sql['knex']['raw']>;
  /** What queries may speak of, by the names on the wire; `$id` and `$createdAt` must be among them. */
  readonly fields: Readonly<Record<string, ListField>>;
  /** The columns that `search` looks into. */
  readonly search?: readonly string[];
}

/** What a caller asked of a list, as `listParameters` parses it. */
export interface Asked {
  readonly queries: readonly string[];
  readonly search?: string;
  readonly total: boolean;
}

type Position = { readonly columns: readonly OrderColumn[]; readonly at: readonly Value[] | null };

/** Lists of the product's own rows, in the query language that documents are listed by. */
export function createLists({ sql }: Pick<Platform, 'sql'>) {
  const { dialect, knex } = sql;
  const ordered = ({ column, type }: ListField) =>
    dialect === 'postgres' && type === 'text' ? `${column} collate "C"` : column;
  const columns: Columns<ListField> = { equal: ({ column }) => column, ordered, typeOf: () => 'text' };
  const condition = createCompiler<ListField>(dialect, columns);

  const fieldOf = ({ fields }: Listing, name: string): ListField => vocabularyOf(fields).field(name);
  const orderOf = (listing: Listing, orders: readonly Order<ListField>[]): OrderColumn[] => {
    const created = fieldOf(listing, '$createdAt');
    const [first] = orders;
    const falls = first !== undefined && first.field.type === 'instant' && first.descending;
    const rest = [created, fieldOf(listing, '$id')]
      .filter(({ column }) => !orders.some(({ field }) => field.column === column))
      .map((field) => ({ field, descending: falls }));
    return [...orders, ...rest].map(({ field, descending }) => ({
      ...{ column: ordered(field), descending, nullable: field.nullable === true },
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
    const rows = await reader.all(sql.compile(page));
    return before ? rows.reverse() : rows;
  };

  return {
    /**
     * A page of a list, and how many rows match in all pages; 0 where the caller does not want to know. Ask it of a snapshot. Throws
     * Failure `general_argument_invalid` and `general_cursor_not_found`.
     */
    page: async (reader: Reader, listing: Listing, asked: Asked): Promise<{ total: number; rows: Row[] }> => {
      const query = parseListQueries(asked.queries, listing.fields);
      const filters = query.conditions.map(condition);
      if (asked.search && listing.search) filters.push(wordsIn(listing.search, asked.search, dialect));
      const matching = listing.rows.clone();
      for (const filter of filters) matching.whereRaw(filter.sql, [...filter.values]);
      const rows = await pageOf(reader, listing, query, matching);
      if (!asked.total) return { total: 0, rows };
      const counted = await reader.one(sql.compile(matching.clone().count({ total: '*' })));
      return { total: Number(counted?.total ?? 0), rows };
    },
  };
}

/** Lists of the product's own rows. */
export type Lists = ReturnType<typeof createLists>;
