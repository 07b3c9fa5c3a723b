import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { type DialectName, dialectWords } from '#src/platform/db/dialect-words.js';
import type { Fragment } from '#src/platform/list-query/index.js';
import type { WholeNumber } from '#src/platform/text/json.js';
import { type Attribute, columnKind, int64 } from '../../databases/index.js';

/** A value that the database computes from the stored one, so that concurrent changes are not lost. */
export interface Computed {
  /** The new value. */
  readonly value: Fragment;
  /** Condition that the attribute can have the new value. */
  readonly fits: Fragment;
}

/** Makes the SQL of an attribute's new value for one database. */
export type Compute = (dialect: DialectName) => Computed;

const never: Fragment = { sql: '1 = 0', values: [] };

/**
 * Adds a number, which may be negative, to a value; null counts as 0. A bound of the request applies in addition to those of the attribute.
 */
export function incremented(attribute: Attribute, by: WholeNumber, bound: WholeNumber | undefined): Compute {
  const bounds: Bounds = attribute;
  const column = `coalesce(${attributeColumn(attribute.number)}, 0)`;
  return (dialect) =>
    columnKind(attribute) === 'integer'
      ? addWhole(column, dialect, BigInt(by), bounds, bound)
      : addDouble(column, dialect, Number(by), bounds, bound);
}

type Bounds = Pick<Attribute, 'min' | 'max'>;

/**
 * Adds whole numbers. It compares them before the addition: an overflow of 64 bits is an error in Postgres and gives a floating-point
 * number in SQLite.
 */
function addWhole(
  column: string,
  dialect: DialectName,
  by: bigint,
  { min, max }: Bounds,
  bound: WholeNumber | undefined,
): Computed {
  const own = bound === undefined ? [] : [BigInt(bound)];
  const least = [int64.min, ...(min === undefined ? [] : [BigInt(min)]), ...(by < 0n ? own : [])];
  const most = [int64.max, ...(max === undefined ? [] : [BigInt(max)]), ...(by > 0n ? own : [])];
  const [low, high] = [largestOf(least) - by, smallestOf(most) - by];
  const number = dialectWords[dialect].number('integer');
  const value = { sql: `${column} + ${number}`, values: [String(by)] };
  if (low > int64.max || high < int64.min) return { value, fits: never };
  const range = [largestOf([low, int64.min]), smallestOf([high, int64.max])];
  return { value, fits: { sql: `${column} between ${number} and ${number}`, values: range.map(String) } };
}

const [largestOf, smallestOf] = [pick((one, other) => one > other), pick((one, other) => one < other)];

/** Replaces `Math.max` and `Math.min`, which do not accept bigints. */
function pick(isBetter: (one: bigint, other: bigint) => boolean) {
  return (numbers: readonly bigint[]): bigint =>
    numbers.reduce((best, number) => (isBetter(number, best) ? number : best));
}

function addDouble(
  column: string,
  dialect: DialectName,
  by: number,
  { min, max }: Bounds,
  bound: WholeNumber | undefined,
): Computed {
  const own = bound === undefined ? [] : [Number(bound)];
  const low = Math.max(-Number.MAX_VALUE, Number(min ?? -Number.MAX_VALUE), ...(by < 0 ? own : []));
  const high = Math.min(Number.MAX_VALUE, Number(max ?? Number.MAX_VALUE), ...(by > 0 ? own : []));
  const number = dialectWords[dialect].number('double');
  const sum = `${column} + ${number}`;
  return {
    value: { sql: sum, values: [by] },
    fits: { sql: `${sum} between ${number} and ${number}`, values: [by, low, high] },
  };
}
