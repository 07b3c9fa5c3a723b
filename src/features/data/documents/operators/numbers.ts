import type { WholeNumber } from '#src/platform/text/json.js';
import { type Attribute, attributeTypes, columnKind, InvalidValue } from '../../databases/index.js';
import { outOfBounds } from '../store/errors.js';
import { type Apply, misuse, type ValueOperator } from './operator.js';

type Arithmetic<N> = Readonly<Record<string, (value: N, by: N) => N | undefined>>;

/** Largest computed exponent. Larger ones exceed 64 bits, unless the base is 0, 1 or -1. */
const maxExponent = 64n;

const whole: Arithmetic<bigint> = {
  increment: (value, by) => value + by,
  decrement: (value, by) => value - by,
  multiply: (value, by) => value * by,
  // Rounds towards zero, and the remainder has the sign of the value, as in both databases.
  divide: (value, by) => value / by,
  modulo: (value, by) => value % by,
  power: wholePower,
};

const double: Arithmetic<number> = {
  increment: (value, by) => value + by,
  decrement: (value, by) => value - by,
  multiply: (value, by) => value * by,
  divide: (value, by) => value / by,
  modulo: (value, by) => value % by,
  power: (value, by) => value ** by,
};

/**
 * Implements the operators of numbers; null counts as 0. Throws Failure `attribute_limit_exceeded` if the result is out of bounds, like
 * increments.
 */
export function numberOperator(attribute: Attribute, operator: ValueOperator): Apply {
  const { method, values } = operator;
  const kind = columnKind(attribute);
  if (kind !== 'integer' && kind !== 'double') throw misuse(attribute, operator, 'needs a single number');
  const takesBound = method !== 'modulo';
  if (values.length < 1 || values.length > (takesBound ? 2 : 1))
    throw misuse(attribute, operator, `takes a number${takesBound ? ' and a bound' : ''}`);
  const [by, bound] = values.map((value, at) => (at === 1 && value === null ? undefined : operand(value)));
  if (by === undefined) throw misuse(attribute, operator, 'takes a number');
  if (['divide', 'modulo'].includes(method) && Number(by) === 0) throw misuse(attribute, operator, 'must not be by 0');
  if (kind === 'integer' && method === 'power' && by < 0)
    throw misuse(attribute, operator, 'takes no negative exponent, as the attribute is a whole number');

  const isLower = method === 'decrement' || method === 'divide';
  const { parse } = attributeTypes[attribute.type];
  return (before) => {
    const after =
      kind === 'integer'
        ? whole[method]?.(BigInt((before ?? 0) as WholeNumber), BigInt(by))
        : double[method]?.(Number(before ?? 0), Number(by));
    const stored = parse(after, attribute);
    if (stored instanceof InvalidValue) throw outOfBounds(attribute);
    const value = stored as WholeNumber;
    if (bound !== undefined && (isLower ? value < bound : value > bound)) throw outOfBounds(attribute);
    return value;
  };

  function operand(value: unknown): WholeNumber {
    const stored = attributeTypes[attribute.type].parse(value, {});
    if (stored instanceof InvalidValue) throw misuse(attribute, operator, `takes a value that ${stored.reason}`);
    return stored as WholeNumber;
  }
}

/** Returns undefined for a power of more than 64 bits. */
function wholePower(value: bigint, exponent: bigint): bigint | undefined {
  if (value >= -1n && value <= 1n) return value ** (exponent % 2n === 0n && exponent > 0n ? 2n : exponent % 2n);
  return exponent > maxExponent ? undefined : value ** exponent;
}
