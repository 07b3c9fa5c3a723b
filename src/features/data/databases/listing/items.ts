import type { Sql } from '#src/platform/db/query.js';
import type { Reader } from '#src/platform/db/unit.js';
import { bind, type ListField, type ListQueries, type Lists } from '#src/platform/list-query/index.js';

/** Where the position of an item stands in the rows that `itemRows` makes. */
const itemPosition = 'items.position';

/** What queries may speak of in such a list: the type of each value, by its name on the wire. */
export type ItemFields = Readonly<Record<string, Pick<ListField, 'type' | 'nullable'>>>;

/** The fields of a list of items, as a list of rows has them. */
function itemFields(fields: ItemFields): Readonly<Record<string, ListField>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field], at) => [name, { ...field, column: `items.c${at}` }]),
  );
}

/**
 * Rows of values that stand in no rows of their own, such as the attributes of a collection, so that they are listed by the same language
 * with the same outcome. They travel as one bound value.
 */
function itemRows(
  { dialect, knex }: Pick<Sql, 'dialect' | 'knex'>,
  fields: ItemFields,
  items: readonly Readonly<Record<string, unknown>>[],
) {
  const names = Object.keys(fields);
  const json = JSON.stringify(
    items.map((item, position) => ({
      position,
      ...Object.fromEntries(names.map((name, at) => [`c${at}`, bind(item[name])])),
    })),
  );
  const columns = ['position', ...names.map((_, at) => `c${at}`)];
  if (dialect === 'sqlite') {
    const members = columns.map((column) => `json_extract(value, '$.${column}') as ${column}`).join(', ');
    return knex(knex.raw(`(select ${members} from json_each(?)) as items`, [json]) as never);
  }
  const typeOf = (name: string) => (['integer', 'boolean'].includes(fields[name]?.type ?? '') ? 'bigint' : 'text');
  const members = ['position bigint', ...names.map((name, at) => `c${at} ${typeOf(name)}`)].join(', ');
  return knex(knex.raw(`json_to_recordset(cast(? as json)) as items (${members})`, [json]) as never);
}

/** Values to list. */
interface Items<T> {
  readonly items: readonly T[];
  /** What queries may speak of; `$id` and `$createdAt` must be among them. */
  readonly fields: ItemFields;
  readonly valuesOf: (item: T) => object;
}

/** A page of values that are at hand, in their order where nothing else was asked. */
export async function pageOfItems<T>(
  { sql, lists }: { readonly sql: Sql; readonly lists: Lists },
  reader: Reader,
  { items, fields, valuesOf }: Items<T>,
  request: ListQueries,
): Promise<{ total: number; items: T[] }> {
  const values = items.map((item) => ({ ...valuesOf(item) }));
  const listing = {
    rows: itemRows(sql, fields, values),
    select: sql.knex.raw(itemPosition),
    fields: itemFields(fields),
    sequence: { column: itemPosition, type: 'integer' },
  } as const;
  // The items are in memory already, and of the page only their positions are read.
  const { value } = await lists.page(reader, listing, request, Number.POSITIVE_INFINITY);
  const { total, rows } = value ?? { total: 0, rows: [] };
  const found = rows.map(({ position }) => items[Number(position)]);
  return { total, items: found.filter((item) => item !== undefined) };
}
