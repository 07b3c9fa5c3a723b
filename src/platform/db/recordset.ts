import type { Value } from './query.js';

/** A column of rows that are given to Postgres as one value. */
interface RecordColumn {
  readonly name: string;
  /** Its type in SQL. */
  readonly type: string;
}

/**
 * The rows that a bound text holds, as a table called `given`, for reads: for arrays of another length Postgres would plan anew. It takes the
 * text apart once; picking members of it would read it again for each.
 */
export function recordset(place: string, columns: readonly RecordColumn[]): string {
  const list = columns.map(({ name, type }) => `${name} ${type}`);
  return `json_to_recordset(cast(${place} as json)) as given (${list.join(', ')})`;
}

/** The text for `recordset`. */
export function toRecords(columns: readonly RecordColumn[], rows: readonly (readonly Value[])[]): string {
  const record = (row: readonly Value[]) => {
    const named: Record<string, Value> = {};
    columns.forEach(({ name }, at) => {
      named[name] = row[at] ?? null;
    });
    return named;
  };
  return JSON.stringify(rows.map(record));
}
