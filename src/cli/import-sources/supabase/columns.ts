import { schemaLimits } from '#src/contract/limits.js';
import type { FileAttribute } from '../../project-file/file.js';
import { storedTime } from '../../user-records/index.js';
import type { Column } from './data.js';

/** A value that cannot be imported; the text completes "column x …". */
export class InvalidText {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

/** How values of a type are stored. */
interface Mapping {
  readonly attribute: Omit<FileAttribute, 'key' | 'array' | 'required'>;
  readonly parse: (text: string) => unknown;
}

/** Characters that texts without a limit can have, unless one is longer. */
const textSize = 65_535;

/** Maps a column to an attribute without its key, and a function that parses its texts. */
export function mappedColumn(
  { type, longest, notNull, hasDefault }: Column,
  enums: ReadonlyMap<string, readonly string[]>,
): { readonly attribute: Omit<FileAttribute, 'key'>; readonly parse: (text: string) => unknown } {
  const array = type.endsWith('[]');
  const { attribute, parse } = mappingOf(array ? type.slice(0, -2) : type, longest, enums);
  return {
    attribute: { ...attribute, array, required: notNull && !hasDefault && !array },
    parse: array ? (text) => parsedArray(text, parse) : parse,
  };
}

/**
 * The value of a constant default, such as `'open'::text`, `-1` or `true`; undefined for no default, and InvalidText for others, such as
 * `now()`.
 */
export function constantDefault({ defaultText, type }: Column, parse: (text: string) => unknown): unknown {
  if (defaultText === undefined || /^NULL\b/i.test(defaultText)) return undefined;
  const unknown = new InvalidText(`has the default ${defaultText}`);
  if (type.endsWith('[]')) return unknown;
  const [, quoted, plain] =
    /^(?:'((?:[^']|'')*)'|\(?(-?\d+(?:\.\d+)?)\)?|true|false)(?:::[\w\s".()]+)?$/.exec(defaultText) ?? [];
  const word = /^(true|false)$/.exec(defaultText)?.[1];
  const text = quoted?.replaceAll("''", "'") ?? plain ?? word;
  return text === undefined ? unknown : parse(text);
}

/** True for columns that become `$createdAt` and `$updatedAt`. */
export function isTimeColumn({ name, type }: Column): boolean {
  return (name === 'created_at' || name === 'updated_at') && type.startsWith('timestamp');
}

function mappingOf(type: string, longest: number, enums: ReadonlyMap<string, readonly string[]>): Mapping {
  const [base = '', size] = /^(.*?)(?:\((\d+)[^)]*\))?$/.exec(type.replace(/\((\d+)\) with/, ' with'))?.slice(1) ?? [];
  const elements = enums.get(type);
  if (elements !== undefined) {
    const fits =
      elements.length <= schemaLimits.elements && elements.every((one) => one.length <= schemaLimits.element);
    return fits ? { attribute: { type: 'enum', elements: [...elements] }, parse: asText } : textOf(255, longest);
  }
  switch (
    base
      .replace(/^(public|extensions)\./, '')
      .replace(/ with(out)? time zone$/, '')
      .trim()
  ) {
    case 'smallint':
    case 'integer':
    case 'bigint':
      return { attribute: { type: 'integer' }, parse: wholeNumber };
    case 'numeric':
    case 'real':
    case 'double precision':
      return { attribute: { type: 'float' }, parse: number };
    case 'boolean':
      return { attribute: { type: 'boolean' }, parse: (text) => text === 't' || text === 'true' };
    case 'timestamp':
    case 'date':
      return { attribute: { type: 'datetime' }, parse: time };
    case 'uuid':
      return textOf(36, longest);
    case 'character varying':
    case 'character':
      return textOf(size === undefined ? textSize : Number(size), longest);
    default:
      return textOf(textSize, longest);
  }
}

function textOf(size: number, longest: number): Mapping {
  return { attribute: { type: 'string', size: Math.max(1, size, longest) }, parse: asText };
}

function asText(text: string): string {
  return text;
}

function wholeNumber(text: string): unknown {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function number(text: string): unknown {
  const value = Number(text);
  return Number.isFinite(value) ? value : new InvalidText(`has the number ${text}`);
}

function time(text: string): unknown {
  return columnTime(text) ?? new InvalidText(`has the time ${text}`);
}

/** A time or date in ISO 8601; undefined for others, such as `infinity`. */
export function columnTime(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  return storedTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
}

/** True if a decimal number has more digits than a float keeps. */
export function losesDigits(type: string, text: string): boolean {
  if (!type.startsWith('numeric') || type.endsWith('[]')) return false;
  const plain = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return String(Number(text)) !== plain && /^-?\d+(\.\d+)?$/.test(plain);
}

/** Parses a list such as `{one,"two, three"}`. */
function parsedArray(text: string, parse: (text: string) => unknown): unknown {
  if (/^\[|^\{\{/.test(text)) return new InvalidText('has a list of lists');
  const values: unknown[] = [];
  for (const [, quoted, plain] of text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,{}"]+)/g)) {
    if (plain === 'NULL') return new InvalidText('has a list with NULL');
    const value = parse(plain ?? (quoted ?? '').replace(/\\(.)/g, '$1'));
    if (value instanceof InvalidText) return value;
    values.push(value);
  }
  return values;
}
