import { parse, stringify } from 'lossless-json';

/** A whole number of 64 bits: a bigint where a JavaScript number would not be exact. */
export type WholeNumber = number | bigint;

/** Only a number of so many digits can lose some of them. */
const longNumber = /\d{16}/;

/** Parses JSON; whole numbers beyond 2^53 become bigints. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return longNumber.test(text) ? parse(text, undefined, parseNumber) : JSON.parse(text);
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
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}
