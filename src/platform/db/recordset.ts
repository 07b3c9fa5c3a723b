import type { Value } from './query.js';

/** A column of rows that are sent to Postgres as one value. */
interface RecordColumn {
  readonly name: string;
  /** SQL type of the column. */
  readonly type: string;
}

/**
 * The rows of a bound text as a table called `given`, for reads. With arrays, Postgres would plan again for each length. It parses the text
 * once; member operators would parse it for each member.
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
