import { toArrays, unnested } from './arrays.js';
import { type ColumnKind, castTypes, type DialectName } from './dialect-words.js';
import type { Query, Value } from './query.js';

/** New rows as a table, with the next sequences. SQLite cannot read doubles from text exactly, so each value is bound there. */
export function newRows(
  dialect: DialectName,
  table: string,
  columns: readonly { readonly name: string; readonly kind: ColumnKind }[],
  rows: readonly (readonly Value[])[],
): Pick<Query, 'sql' | 'values'> {
  if (dialect === 'postgres') {
    const typed = columns.map(({ name, kind }) => ({ name, type: castTypes[kind] }));
    return {
      sql: `(select nextval('${table}_seq_seq') as seq, * from ${unnested(typed, () => '?')}) as given`,
      values: toArrays(typed, rows),
    };
  }
  const row = (_: unknown, at: number) => `(${[at + 1, ...columns.map(() => '?')].join(', ')})`;
  const names = columns.map(({ name }, at) => `column${at + 2} as ${name}`);
  const last = `coalesce((select seq from sqlite_sequence where name = '${table}'), 0)`;
  return {
    sql: `(select ${last} + column1 as seq, ${names.join(', ')} from (values ${rows.map(row).join(', ')}))`,
    values: rows.flat(),
  };
}
