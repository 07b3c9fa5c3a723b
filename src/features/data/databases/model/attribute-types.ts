import { isIP } from 'node:net';
import { z } from 'zod';
import { parseInstant } from '#src/contract/instant.js';
import { queryBounds, schemaLimits } from '#src/contract/limits.js';
import { customId } from '#src/contract/shapes.js';
import type { ElementKind } from '#src/platform/db/dialect-words.js';
import type { WholeNumber } from '#src/platform/text/json.js';

/** A value that does not fit; the text completes "attribute x …". */
export class InvalidValue {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Bounds on the values of an attribute. Bounds of numbers are decimal text, because whole numbers may have 64 bits. */
export interface AttributeOptions {
  readonly size?: number;
  readonly min?: string;
  readonly max?: string;
  readonly elements?: readonly string[];
}

/** The same bounds, as a request gives them. */
export type OptionInput = {
  readonly [K in keyof AttributeOptions]:
    | (K extends 'min' | 'max' ? WholeNumber | null : AttributeOptions[K])
    | undefined;
};

/** A type of attributes. */
export interface AttributeType {
  /** The type in operations and in models of the SDKs, such as `createFloatAttribute`. */
  readonly name: string;
  /** The type in paths and commands. */
  readonly path: string;
  /** `type` and `format` on the wire, by which the SDKs tell types apart. */
  readonly wireType: string;
  readonly format?: string;
  /** How the database stores, compares, orders and prints values. */
  readonly column: ElementKind;
  /** Characters that a value can have, if an index has no room for that number. */
  readonly characters?: number;
  /** Whether queries can look for a part of a value. */
  readonly isSearchable: boolean;
  /** Whether values can be sealed. */
  readonly canEncrypt: boolean;
  /** Members of a request for an attribute of this type. */
  readonly options: { readonly [K in keyof OptionInput]: z.ZodType<OptionInput[K]> };
  readonly default: z.ZodType;
  /** The stored form of a value. */
  readonly parse: (value: unknown, options: AttributeOptions) => unknown;
  /** The stored form of a value in a query, if queries may compare with values that cannot be stored. */
  readonly comparable?: (value: unknown) => unknown;
  /** Reads a bound or a default that is stored as text; `Number` if absent. */
  readonly number?: (text: string) => WholeNumber;
}

/** Bounds of whole numbers. */
export const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n } as const;
const maxDatetime = 40;

const whole = z.union([z.int(), z.bigint()]).nullish();
const real = z.number().nullish();
const size = z.int().min(1).max(1_073_741_824);
const varcharSize = z.int().min(1).max(16_381);
const elements = z
  .array(z.string().min(1).max(schemaLimits.element))
  .min(1)
  .max(schemaLimits.elements)
  .refine((list) => new Set(list).size === list.length, 'must not name one element twice');
const email = z.email();
const isWebUrl = (value: string) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);

/** The types that requests can add, by their stored names. */
const valueTypes = table({
  string: { ...text('String', 0), options: { size } },
  varchar: { ...text('Varchar', 0), wireType: 'varchar', options: { size: varcharSize } },
  text: longText('Text', 16_383),
  mediumtext: longText('Mediumtext', 4_194_303),
  longtext: longText('Longtext', 1_073_741_823),
  integer: whole64('Integer', 'integer'),
  bigint: whole64('BigInt', 'bigint'),
  double: { ...plain('Float', 'double', double), options: { min: real, max: real }, default: real },
  boolean: { ...plain('Boolean', 'boolean', boolean), default: z.boolean().nullish() },
  datetime: { ...plain('Datetime', 'text', datetime), wireType: 'datetime', format: '' },
  email: text('Email', 320, (value) => (email.safeParse(value).success ? '' : 'must be an email address')),
  url: text('Url', 2048, (value) => (isWebUrl(value) ? '' : 'must be an http or https URL')),
  ip: text('Ip', 39, (value) => (isIP(value) === 0 ? 'must be an IPv4 or IPv6 address' : '')),
  enum: {
    ...text('Enum', schemaLimits.element, (value, options) =>
      options.elements?.includes(value) ? '' : `must be one of: ${options.elements?.join(', ')}`,
    ),
    options: { elements },
  },
});
/** All types of attributes by their stored names, with relationships, which show the id of one document. */
export const attributeTypes = {
  ...valueTypes,
  relationship: { ...plain('Relationship', 'text', relatedId), wireType: 'relationship' } satisfies AttributeType,
};
/** The type of an attribute. */
export type AttributeTypeName = keyof typeof attributeTypes;
type ValueTypeName = keyof typeof valueTypes;
/** The types of values in the order of the table. */
export const typeNames = Object.keys(valueTypes) as readonly ValueTypeName[];

/** Applies a function to each type. */
export function mapTypes<T>(make: (name: ValueTypeName) => T): Readonly<Record<ValueTypeName, T>> {
  return Object.fromEntries(typeNames.map((name) => [name, make(name)])) as Record<ValueTypeName, T>;
}

/** The stored form of a value of an attribute, or an InvalidValue. Null is never checked here. */
export function toStored(
  attribute: AttributeOptions & { readonly type: AttributeTypeName; readonly array: boolean },
  value: unknown,
): unknown {
  const { parse } = attributeTypes[attribute.type];
  if (!attribute.array) return parse(value, attribute);
  if (!Array.isArray(value)) return new InvalidValue('must be an array');
  if (value.length > schemaLimits.arrayElements)
    return new InvalidValue(`must have at most ${schemaLimits.arrayElements} elements`);
  const stored: unknown[] = [];
  for (const [index, element] of value.entries()) {
    const one = parse(element, attribute);
    if (one instanceof InvalidValue) return new InvalidValue(`element ${index} ${one.reason}`);
    stored.push(one);
  }
  return stored;
}

function table<K extends string>(rows: Readonly<Record<K, AttributeType>>): typeof rows {
  return rows;
}

function plain(name: string, column: ElementKind, parse: AttributeType['parse']): AttributeType {
  const path = name.toLowerCase();
  return {
    name,
    path,
    wireType: column,
    column,
    isSearchable: false,
    canEncrypt: false,
    options: {},
    default: z.string().nullish(),
    parse,
  };
}

/** Whole numbers of 64 bits. */
function whole64(name: string, wireType: string): AttributeType {
  return {
    ...plain(name, 'integer', wholeNumber),
    wireType,
    options: { min: whole, max: whole },
    default: whole,
    number: exact,
  };
}

/** Text that is too long for an index. */
function longText(name: string, characters: number): AttributeType {
  const common = text(name, characters);
  return { ...common, wireType: common.path, characters };
}

/** Text up to a length. The check returns the reason to refuse a value; a type with a check is a format of strings. */
function text(
  name: string,
  maxCharacters: number,
  check?: (value: string, options: AttributeOptions) => string,
): AttributeType {
  const parse: AttributeType['parse'] = (value, options) => {
    const stored = string(value, options.size ?? maxCharacters);
    const problem = typeof stored === 'string' ? check?.(stored, options) : '';
    return problem ? new InvalidValue(problem) : stored;
  };
  const common = plain(name, 'text', parse);
  return {
    ...common,
    ...(check && { format: common.path }),
    wireType: 'string',
    isSearchable: true,
    canEncrypt: check === undefined,
    comparable: (value) => string(value, queryBounds.characters),
  };
}

function string(value: unknown, maxCharacters: number): string | InvalidValue {
  if (typeof value !== 'string') return new InvalidValue('must be text');
  // Bodies with such text are refused before, but a GraphQL query can contain it as an escape. Postgres stores neither.
  if (value.includes('\0') || !value.isWellFormed())
    return new InvalidValue('must not hold NUL characters or lone surrogates');
  if (value.length > maxCharacters && [...value].length > maxCharacters)
    return new InvalidValue(`must have at most ${maxCharacters} characters`);
  return value;
}

function relatedId(value: unknown): string | InvalidValue {
  const id = customId.safeParse(value);
  return id.success ? id.data : new InvalidValue('must be the id of a document');
}

function boolean(value: unknown): boolean | InvalidValue {
  return typeof value === 'boolean' ? value : new InvalidValue('must be true or false');
}

function exact(text: string): WholeNumber {
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
}

/** Names the bound that a value exceeds, and the other bound if there is one. */
function outOf<N extends number | bigint>(
  value: N,
  [low, high]: readonly [N, N],
  { min, max }: AttributeOptions,
): InvalidValue {
  if (value < low && max === undefined) return new InvalidValue(`must be at least ${low}`);
  if (value > high && min === undefined) return new InvalidValue(`must be at most ${high}`);
  return new InvalidValue(`must be from ${low} to ${high}`);
}

function wholeNumber(value: unknown, options: AttributeOptions): WholeNumber | InvalidValue {
  const { min, max } = options;
  const isWhole = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
  if (!isWhole) return new InvalidValue('must be a whole number');
  const low = min === undefined ? int64.min : BigInt(min);
  const high = max === undefined ? int64.max : BigInt(max);
  // A number and a bigint are compared exactly.
  if (value < low || value > high) return outOf(BigInt(value), [low, high], options);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
}

function double(value: unknown, options: AttributeOptions): number | InvalidValue {
  if ((typeof value !== 'number' && typeof value !== 'bigint') || !Number.isFinite(Number(value)))
    return new InvalidValue('must be a number');
  const number = Number(value);
  const low = Number(options.min ?? -Infinity);
  const high = Number(options.max ?? Infinity);
  if (number < low || number > high) return outOf(number, [low, high], options);
  // -0 equals 0 but is printed differently, so it is stored as 0.
  return number === 0 ? 0 : number;
}

function datetime(value: unknown): string | InvalidValue {
  const time = typeof value === 'string' && value.length <= maxDatetime ? parseInstant(value) : undefined;
  if (time === undefined) return new InvalidValue('must be a date and time in ISO 8601');
  const instant = new Date(time).toISOString();
  // An offset may lead to a year with more than four digits, which sorts differently as text than as time.
  if (!/^\d{4}-/.test(instant)) return new InvalidValue('must be in the years 0000 to 9999 of UTC');
  return `${instant.slice(0, -1)}+00:00`;
}
