import type { Sql } from '#src/platform/db/query.js';
import { raw } from '#src/platform/db/template.js';
import type { Reader } from '#src/platform/db/unit.js';
import {
  boundValue,
  type ListField,
  type ListQueries,
  type ListRows,
  type Lists,
} from '#src/platform/list-query/index.js';

/** Column with the position of an item in the rows of `itemRows`. */
const itemPosition = 'items.position';

/** Fields that queries of such a list may name: the type of each value, by its name on the wire. */
export type ItemFields = Readonly<Record<string, Pick<ListField, 'type' | 'nullable'>>>;

/** Fields of a list of items in the form of a list of rows. */
function itemFields(fields: ItemFields): Readonly<Record<string, ListField>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field], at) => [name, { ...field, column: `items.c${at}` }]),
  );
}

/**
 * Makes rows of values that have no table of their own, such as the attributes of a collection. Queries on them use the same language as
 * other lists and give the same results. The values are sent as one bound JSON parameter.
 */
function itemRows({ words }: Sql, fields: ItemFields, items: readonly Readonly<Record<string, unknown>>[]): ListRows {
  const names = Object.keys(fields);
  const json = JSON.stringify(
    items.map((item, position) => ({
      position,
      ...Object.fromEntries(names.map((name, at) => [`c${at}`, boundValue(item[name])])),
    })),
  );
  const kindOf = (name: string) => (['integer', 'boolean'].includes(fields[name]?.type ?? '') ? 'integer' : 'text');
  const columns = names.map((name, at) => ({ name: `c${at}`, kind: kindOf(name) }) as const);
  const from = words.recordsInJson('items', [{ name: 'position', kind: 'integer' }, ...columns]);
  return { from: raw(from, [json]), where: raw('true') };
}

/** Values to list. */
interface Items<T> {
  readonly items: readonly T[];
  /** Fields that queries may name. They must include `$id` and `$createdAt`. */
  readonly fields: ItemFields;
  readonly valuesOf: (item: T) => object;
}

/** Returns a page of values that are in memory. By default they keep their order. */
export async function pageOfItems<T>(
  { sql, lists }: { readonly sql: Sql; readonly lists: Lists },
  reader: Reader,
  { items, fields, valuesOf }: Items<T>,
  request: ListQueries,
): Promise<{ total: number; items: T[] }> {
  const values = items.map((item) => ({ ...valuesOf(item) }));
  const listing = {
    rows: itemRows(sql, fields, values),
    select: raw(itemPosition),
    fields: itemFields(fields),
    sequence: { column: itemPosition, type: 'integer' },
  } as const;
  const { total, rows } = await lists.page(reader, listing, request);
  const found = rows.map(({ position }) => items[Number(position)]);
  return { total, items: found.filter((item) => item !== undefined) };
}
