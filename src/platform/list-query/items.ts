import type { Sql } from '#src/platform/db/query.js';
import type { ListField } from './fields.js';
import { bind } from './query/fragment.js';

/** Where the position of an item stands in the rows that `itemRows` makes. */
export const itemPosition = 'items.position';

/** What queries may speak of in such a list: the type of each value, by its name on the wire. */
export type ItemFields = Readonly<Record<string, Pick<ListField, 'type' | 'nullable'>>>;

/** The fields of a list of items, for `Listing`. */
export function itemFields(fields: ItemFields): Readonly<Record<string, ListField>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field], at) => [name, { ...field, column: `items.c${at}` }]),
  );
}

/**
 * Rows of values that stand in no rows of their own, such as the attributes of a collection, so that they are listed by the same language
 * with the same outcome. They travel as one bound value.
 */
export function itemRows(
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
