import type { Value } from '#src/platform/db/query.js';
import { printJson } from '#src/platform/text/json.js';

/** A piece of SQL with `?` for its values. */
export interface Fragment<V = Value> {
  readonly sql: string;
  readonly values: readonly V[];
}

/** Joins fragments with a separator. */
export function join<V>(fragments: readonly Fragment<V>[], word: string): Fragment<V> {
  return { sql: fragments.map(({ sql }) => sql).join(word), values: fragments.flatMap(({ values }) => values) };
}

/** The bound form of a stored value: booleans as 1 and 0, lists as JSON, integers of 64 bits as text. */
export function boundValue(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'object') return printJson(value);
  return value as string | number;
}
