import { printJson } from '../text/json.js';
import { castTypes, type DialectName, type ElementKind } from './dialect-words.js';
import type { Sql, Value } from './query.js';

/** A bound list of values. */
interface ValueList {
  readonly sql: string;
  readonly values: readonly Value[];
}

/**
 * A list of values as one bound value, so that the statement text does not depend on their number. For SQLite it is a query that selects
 * `value`, for Postgres an array.
 */
export function valueList(
  { dialect, list }: Pick<Sql, 'dialect' | 'list'>,
  kind: ElementKind,
  values: readonly unknown[],
): ValueList {
  if (dialect === 'postgres') {
    const texts = values.map((value) => (typeof value === 'boolean' ? String(Number(value)) : String(value)));
    return { sql: `cast(? as ${castTypes[kind]}[])`, values: [list(texts)] };
  }
  if (kind === 'double')
    return {
      sql: 'select (value ->> 0) * pow(2.0, value ->> 1) as value from json_each(?)',
      values: [JSON.stringify(values.map((value) => scaled(Number(value))))],
    };
  const stored = values.map((value) => (typeof value === 'boolean' ? Number(value) : value));
  return { sql: 'select value from json_each(?)', values: [printJson(stored)] };
}

/** A condition that is true if a value is one of the list. */
export function isIn(dialect: DialectName, value: string, list: ValueList): string {
  return `${value} ${dialect === 'sqlite' ? 'in' : '= any'} (${list.sql})`;
}

/**
 * A condition that is true if one value of the list, as `given.value`, meets another condition. SQLite parses the list once, not for each
 * row. Postgres checks for cancellation between two values; with ANY it would only check between two rows.
 */
export function anyOf(dialect: DialectName, list: ValueList, condition: string): string {
  if (dialect === 'postgres') return `exists (select 1 from unnest(${list.sql}) as given (value) where ${condition})`;
  return `exists (with given (value) as materialized (${list.sql}) select 1 from given where ${condition} limit 1)`;
}

/** A double as an integer and the power of two to multiply it with: SQLite does not parse every double from text exactly. */
function scaled(value: number): [number, number] {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const high = bits.getUint32(0);
  const exponent = (high >>> 20) & 0x7ff;
  const fraction = (high & 0xfffff) * 2 ** 32 + bits.getUint32(4);
  const sign = high >>> 31 === 1 ? -1 : 1;
  if (exponent === 0) return [sign * fraction, -1074];
  return [sign * (fraction + 2 ** 52), exponent - 1075];
}
