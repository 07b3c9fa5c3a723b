import { parse, stringify } from 'lossless-json';

/** A whole number of 64 bits: a bigint where a JavaScript number would not be exact. */
export type WholeNumber = number | bigint;

/** Only a number of so many digits can lose some of them. */
const longNumber = /\d{16}/;
/** Only a number with such an exponent can be beyond the largest double. */
const largeNumber = /\d[eE]\+?\d{3}/;

/** Reading a whole number of so many digits takes no time worth mentioning; one of millions would hold everybody up. */
const maxDigits = 1000;

/** A number that would not come back as it was given: of too many digits, or beyond the largest double. */
export class NumberTooLarge extends SyntaxError {}

/** Parses JSON; whole numbers beyond 2^53 become bigints. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return longNumber.test(text) || largeNumber.test(text) ? parse(text, undefined, parseNumber) : JSON.parse(text);
}

/** Prints JSON, for people with an indentation; bigints as bare digits. */
export function printJson(value: unknown, indentation = 0): string {
  try {
    return JSON.stringify(value, null, indentation);
  } catch (error) {
    // JSON.stringify knows no bigints and says so; everything else it cannot print is a defect.
    if (!(error instanceof TypeError)) throw error;
    return stringify(value, undefined, indentation) ?? 'null';
  }
}

function parseNumber(text: string): WholeNumber {
  const value = Number(text);
  const isWhole = /^-?\d+$/.test(text);
  if (isWhole ? text.length > maxDigits : !Number.isFinite(value)) throw new NumberTooLarge('a number is too large');
  return isWhole && !Number.isSafeInteger(value) ? BigInt(text) : value;
}
