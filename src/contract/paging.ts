import { Failure } from './errors.js';

/** A part of a list. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** The page that a list's queries ask for: `limit` and `offset` and no others. Throws Failure `general_query_invalid`. */
export function pageOf(queries: readonly string[], most: number, usual: number): Page {
  const page = { limit: usual, offset: 0 };
  for (const text of queries) {
    const { method, values } = parse(text);
    const [value, ...more] = Array.isArray(values) ? values : [];
    const [least, largest] = method === 'limit' ? [1, most] : [0, 2_000_000_000];
    if (method !== 'limit' && method !== 'offset') throw invalid('this list takes limit and offset only.');
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > largest || more.length > 0)
      throw invalid(`${method} takes one whole number from ${least} to ${largest}.`);
    page[method] = value;
  }
  return page;
}

function parse(text: string): { readonly method?: unknown; readonly values?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below, as for JSON of any other kind.
  }
  throw invalid('each query must be a JSON object.');
}

function invalid(reason: string): Failure {
  return new Failure('general_query_invalid', { message: `Invalid query: ${reason}` });
}
