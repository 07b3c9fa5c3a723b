import { randomBytes } from 'node:crypto';
import { stringify } from 'lossless-json';
import { jsonLimits } from '#src/contract/limits.js';

/** An integer of 64 bits: a bigint if a JavaScript number would not be exact. */
export type WholeNumber = number | bigint;

/** Parsing an integer of this many digits takes negligible time; millions of digits would block the event loop. */
const maxDigits = 1000;

/** A number that would change on the way: too many digits, or beyond the largest double. */
export class NumberTooLarge extends SyntaxError {}

/** Text with more members or deeper levels than allowed. */
export class JsonTooLarge extends SyntaxError {
  readonly bound: keyof JsonBounds;

  constructor(bound: keyof JsonBounds) {
    super(`too many ${bound}`);
    this.bound = bound;
  }
}

/** Deepest nesting of JSON, and most members and list entries in total. */
interface JsonBounds {
  readonly depth: number;
  readonly keys: number;
}

interface Reading extends Partial<JsonBounds> {
  /** Called with the number of members before anything is parsed; may throw. */
  readonly admit?: (members: number) => void;
}

/**
 * Parses JSON of a caller. Scans the text before parsing and stops at the limit, because parsing first and counting afterwards takes
 * seconds for a few megabytes of small members. Throws SyntaxError.
 */
export function readJson(
  text: string,
  { admit, depth = jsonLimits.depth, keys = jsonLimits.keys }: Reading = {},
): unknown {
  const { members, numbers } = scan(text, { depth, keys });
  admit?.(members);
  return parseExactly(text, numbers);
}

/** Parses JSON that this service has printed; integers beyond 2^53 become bigints. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return hasLongNumber.test(text) ? parseExactly(text, scan(text, unbounded).numbers) : JSON.parse(text);
}

/** Prints JSON, with an indentation for people; bigints become bare digits. */
export function printJson(value: unknown, indentation = 0): string {
  try {
    return JSON.stringify(value, null, indentation);
  } catch (error) {
    // JSON.stringify throws TypeError for bigints; other values that it cannot print are a defect.
    if (!(error instanceof TypeError)) throw error;
    return stringify(value, undefined, indentation) ?? 'null';
  }
}

const unbounded: JsonBounds = { depth: Number.POSITIVE_INFINITY, keys: Number.POSITIVE_INFINITY };
/** Matches digits that a double may lose, or an exponent that may be too large. */
const hasLongNumber = /\d{16}|\d[eE]\+?\d{3}/;
const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const isWhole = /^-?\d+$/;

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Start and end of a number in the text. */
type Span = readonly [start: number, end: number];

/** Counts members and levels without parsing, and finds the numbers that `JSON.parse` might change. Throws JsonTooLarge. */
function scan(text: string, bounds: JsonBounds): { readonly members: number; readonly numbers: readonly Span[] } {
  const numbers: Span[] = [];
  let depth = 0;
  let members = 0;
  /** True if the last bracket opened an object or list without members so far. */
  let isEmpty = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= 0x20) continue;
    if (code === comma || (isEmpty && code !== closeList && code !== closeObject)) members += 1;
    if (members > bounds.keys) throw new JsonTooLarge('keys');
    isEmpty = code === openList || code === openObject;
    if (isEmpty) depth += 1;
    if (depth > bounds.depth) throw new JsonTooLarge('depth');
    if (code === closeList || code === closeObject) depth -= 1;
    else if (code === quote) at = endOfText(text, at);
    else if (isNumberPart(code)) {
      const start = at;
      while (isNumberPart(text.charCodeAt(at + 1))) at += 1;
      if (at - start >= 15 || hasExponent(text, start, at)) numbers.push([start, at + 1]);
    }
  }
  return { members, numbers };
}

/** The index of the quote that ends a text. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === backslash) before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
  return text.length;
}

/** Digits and `+ - . E e`. */
function isNumberPart(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2e || code === 0x2b || (code | 0x20) === 0x65;
}

function hasExponent(text: string, start: number, end: number): boolean {
  for (let at = start + 1; at < end; at++) if ((text.charCodeAt(at) | 0x20) === 0x65) return true;
  return false;
}

/** A random prefix that no text of a caller begins with. */
const mark = `${randomBytes(16).toString('hex')}:`;

/**
 * Parses after replacing these numbers with marked texts, which the reviver turns into exact numbers. `JSON.parse` of Node.js 20 does not
 * expose the digits of a number, and a parser in JavaScript takes a second for 4 MiB.
 */
function parseExactly(text: string, numbers: readonly Span[]): unknown {
  const exact = numbers.filter(([start, end]) => isInexact(text, start, end));
  if (exact.length === 0) return JSON.parse(text);
  const parts: string[] = [];
  let from = 0;
  for (const [start, end] of exact) {
    parts.push(text.slice(from, start), `"${mark}${text.slice(start, end)}"`);
    from = end;
  }
  parts.push(text.slice(from));
  return JSON.parse(parts.join(''), (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? exactNumber(value.slice(mark.length)) : value,
  );
}

/** True if `JSON.parse` would change the number. Throws SyntaxError if it is not a number, or if it is used as a member name. */
function isInexact(text: string, start: number, end: number): boolean {
  if (end - start > maxDigits) throw new NumberTooLarge('a number is too large');
  const number = text.slice(start, end);
  if (!isNumber.test(number)) throw new SyntaxError('not a number');
  let next = end;
  while (text.charCodeAt(next) <= 0x20) next += 1;
  if (text.charCodeAt(next) === colon) throw new SyntaxError('a name is a text');
  return isWhole.test(number) ? !Number.isSafeInteger(Number(number)) : !Number.isFinite(Number(number));
}

function exactNumber(text: string): WholeNumber {
  if (!isWhole.test(text)) throw new NumberTooLarge('a number is too large');
  return BigInt(text);
}
