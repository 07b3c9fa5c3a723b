import { readJson } from '#src/platform/text/json.js';

/** Methods whose arguments are only values; the first argument of any other method is the attribute. */
const withoutAttribute: ReadonlySet<string> = new Set(['select', 'limit', 'offset', 'cursorAfter', 'cursorBefore']);

/**
 * Parses a query in the form of Appwrite SDKs before 2024, such as `equal("title", ["x"])`; undefined for any other text. These SDKs do not
 * escape quoted text. Text with a quotation mark or a backslash is therefore ambiguous and rejected.
 */
export function readCall(text: string): unknown {
  const [, method, args] = /^([a-zA-Z]+)\((.*)\)$/s.exec(text) ?? [];
  if (method === undefined || args === undefined || args.includes('\\')) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows these in strings only if they are escaped.
  const escaped = args.replace(/[\0-\x1f]/g, (character) => JSON.stringify(character).slice(1, -1));
  const values = readJson(`[${escaped}]`) as unknown[];
  return withoutAttribute.has(method)
    ? { method, values: values.flat() }
    : { method, attribute: values[0], values: values.slice(1).flat() };
}
