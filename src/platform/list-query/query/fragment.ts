import type { Value } from '#src/platform/db/query.js';
import { printJson } from '#src/platform/json.js';

/** A piece of SQL with `?` for its values. */
export interface Fragment {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Joins pieces with a word between them. */
export function join(fragments: readonly Fragment[], word: string): Fragment {
  return { sql: fragments.map(({ sql }) => sql).join(word), values: fragments.flatMap(({ values }) => values) };
}

/** The form in which a stored value is bound: truth values as 1 and 0, lists as JSON, numbers of 64 bits as text. */
export function bind(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'object') return printJson(value);
  return value as string | number;
}
