import { z } from 'zod';
import type { Failure } from '#src/contract/errors.js';
import { queryBounds } from '#src/contract/limits.js';
import { readJson } from '#src/platform/text/json.js';

/** Creates the Failure for an invalid query from its message. */
export type Invalid = (message: string) => Failure;

const queryShape = z.object({
  method: z.string(),
  attribute: z.string().optional(),
  values: z.array(z.unknown()).default([]),
});

/** A query in the format of the API. */
export type WireQuery = z.output<typeof queryShape>;

/** Parses the text of a query. Throws the failure of `invalid`. */
export function readQuery(text: string, invalid: Invalid): WireQuery {
  if (text.length > queryBounds.characters) throw invalid(`at most ${queryBounds.characters} characters each.`);
  let value: unknown;
  try {
    value = readCall(text) ?? readJson(text);
  } catch {
    throw invalid('each query must be a JSON object.');
  }
  return readShape(value, invalid);
}

/** Validates a query nested in another. Throws the failure of `invalid`. */
export function readShape(value: unknown, invalid: Invalid): WireQuery {
  const parsed = queryShape.safeParse(value);
  if (!parsed.success) throw invalid('each query must be a JSON object with a method and a list of values.');
  return parsed.data;
}

/** The first value, which must be text that both databases can store. Throws the failure of `invalid`. */
export function oneText(values: readonly unknown[], method: string, invalid: Invalid): string {
  const [value] = values;
  if (typeof value !== 'string') throw invalid(`${method} takes text.`);
  if (value.includes('\0') || !value.isWellFormed())
    throw invalid('text must not hold NUL characters or lone surrogates.');
  return value;
}

/** The first value, which must be an integer within bounds. Throws the failure of `invalid`. */
export function integerWithin(
  values: readonly unknown[],
  method: string,
  [low, high]: readonly [number, number],
  invalid: Invalid,
): number {
  const [value] = values;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < low || value > high) {
    throw invalid(`${method} takes a whole number from ${low} to ${high}.`);
  }
  return value;
}

/** Methods whose arguments are only values; the first argument of any other method is the attribute. */
const withoutAttribute: ReadonlySet<string> = new Set(['select', 'limit', 'offset', 'cursorAfter', 'cursorBefore']);

/**
 * Parses a query in the form of Appwrite SDKs before 2024, such as `equal("title", ["x"])`; undefined for any other text. These SDKs do not
 * escape quoted text. Text with a quotation mark or a backslash is therefore ambiguous and rejected.
 */
function readCall(text: string): unknown {
  const [, method, args] = /^([a-zA-Z]+)\((.*)\)$/s.exec(text) ?? [];
  if (method === undefined || args === undefined || args.includes('\\')) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows these in strings only if they are escaped.
  const escaped = args.replace(/[\0-\x1f]/g, (character) => JSON.stringify(character).slice(1, -1));
  const values = readJson(`[${escaped}]`) as unknown[];
  return withoutAttribute.has(method)
    ? { method, values: values.flat() }
    : { method, attribute: values[0], values: values.slice(1).flat() };
}
