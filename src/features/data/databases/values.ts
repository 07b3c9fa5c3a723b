import { isIP } from 'node:net';
import { z } from 'zod';
import type { WholeNumber } from '#src/platform/json.js';
import type { Attribute } from './schema.js';

/** A value that does not fit; the text completes "attribute x …". */
export class InvalidValue {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n } as const;
const mostElements = 10_000;
const stringSizes = { email: 320, url: 2048, ip: 39, enum: 255, datetime: 40 } as const;

/** The stored form of a value of an attribute, or a Misfit. Null is never checked here. */
export function toStored(attribute: Attribute, value: unknown): unknown {
  if (!attribute.array) return single(attribute, value);
  if (!Array.isArray(value)) return new InvalidValue('must be an array');
  if (value.length > mostElements) return new InvalidValue(`must have at most ${mostElements} elements`);
  const stored: unknown[] = [];
  for (const [index, element] of value.entries()) {
    const one = single(attribute, element);
    if (one instanceof InvalidValue) return new InvalidValue(`element ${index} ${one.reason}`);
    stored.push(one);
  }
  return stored;
}

/** The stored form of one value, whether or not the attribute is an array: what queries compare with. */
export function single(attribute: Attribute, value: unknown): unknown {
  switch (attribute.type) {
    case 'integer':
      return wholeNumber(attribute, value);
    case 'double':
      return double(attribute, value);
    case 'boolean':
      return typeof value === 'boolean' ? value : new InvalidValue('must be true or false');
    case 'datetime':
      return datetime(value);
    default:
      return string(attribute, value);
  }
}

function wholeNumber({ min, max }: Attribute, value: unknown): WholeNumber | InvalidValue {
  const whole = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
  if (!whole) return new InvalidValue('must be a whole number');
  const low = min === undefined ? int64.min : BigInt(min);
  const high = max === undefined ? int64.max : BigInt(max);
  // A number and a bigint are compared exactly.
  if (value < low || value > high) return new InvalidValue(`must be from ${low} to ${high}`);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
}

function double({ min, max }: Attribute, value: unknown): number | InvalidValue {
  if ((typeof value !== 'number' && typeof value !== 'bigint') || !Number.isFinite(Number(value)))
    return new InvalidValue('must be a number');
  const number = Number(value);
  if ((min !== undefined && number < Number(min)) || (max !== undefined && number > Number(max))) {
    return new InvalidValue(`must be from ${min ?? '-∞'} to ${max ?? '∞'}`);
  }
  // -0 and 0 are equal and print alike in neither database; only one of them is kept.
  return number === 0 ? 0 : number;
}

const instants = [z.core.regexes.datetime({ offset: true, local: true }), z.core.regexes.date];

function datetime(value: unknown): string | InvalidValue {
  const text =
    typeof value === 'string' && value.length <= stringSizes.datetime
      ? value.replace(/^(\d{4}-\d\d-\d\d) (?=\d)/, '$1T')
      : '';
  if (!instants.some((form) => form.test(text))) return new InvalidValue('must be a date and time in ISO 8601');
  // Without an offset it is UTC, whatever the machine's own zone.
  const time = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$|^\d{4}-\d\d-\d\d$/i.test(text) ? text : `${text}Z`);
  return Number.isNaN(time)
    ? new InvalidValue('must be a date and time in ISO 8601')
    : `${new Date(time).toISOString().slice(0, -1)}+00:00`;
}

const email = z.email();

function string({ type, size, elements }: Attribute, value: unknown): string | InvalidValue {
  if (typeof value !== 'string') return new InvalidValue('must be text');
  // Bodies are looked through for such text, but a GraphQL query can spell it. Postgres has neither in text.
  if (value.includes('\0') || !value.isWellFormed())
    return new InvalidValue('must not hold NUL characters or lone surrogates');
  const most = type === 'string' ? (size ?? 0) : stringSizes[type as keyof typeof stringSizes];
  if (value.length > most && [...value].length > most) return new InvalidValue(`must have at most ${most} characters`);
  if (type === 'email' && !email.safeParse(value).success) return new InvalidValue('must be an e-mail address');
  if (type === 'url' && !(URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)))
    return new InvalidValue('must be an http or https URL');
  if (type === 'ip' && isIP(value) === 0) return new InvalidValue('must be an IPv4 or IPv6 address');
  if (type === 'enum' && !elements?.includes(value)) return new InvalidValue(`must be one of: ${elements?.join(', ')}`);
  return value;
}
