import { retry } from '#src/platform/runtime/retry.js';
import { type ApiClient, ApiError, foreignAnswer, type Json } from './client.js';
import { scopeOf } from './scopes.js';

type Queries = NonNullable<Parameters<ApiClient['get']>[1]>;

/** Entries of the first page, and of the longest. */
const [firstLimit, longestLimit] = [50, 200];
/** Characters of an answer above which pages get shorter, and below which they get longer. */
const [manyCharacters, fewCharacters] = [4_000_000, 1_000_000];

/** A list ended early, so only a part of it was read. */
export class BrokenList extends Error {
  constructor(path: string, entries: number, problem: string) {
    super(`The list ${path} was not read to its end, only ${entries} entries: ${problem} Run the import again.`);
    this.name = 'BrokenList';
  }
}

/** Stands for an entry that is no record with an id. */
const malformed: Json = {};

/** Why an entry cannot be imported; undefined for a record. */
export function problemOf(entry: Json): string | undefined {
  return typeof entry.$id === 'string' && entry.$id !== ''
    ? undefined
    : 'The source sends an entry that is no record with an $id.';
}

/**
 * Reads a list of the API in pages. `member` is its name in the answer. Throws ApiError for a list that the source refuses, BrokenList for one
 * that ends early, and CommandError.
 */
export async function* pagesOf(
  client: ApiClient,
  path: string,
  member: string,
  queries: Queries = [],
): AsyncGenerator<readonly Json[]> {
  let limit = firstLimit;
  let total = 0;
  /** Ids of the last page, newest first. A cursor that was deleted concurrently is replaced by the one before it. */
  let cursors: string[] = [];
  const readPage = async () => {
    const asked = limit;
    const cursor = cursors.slice(0, 1).map((after) => ({ method: 'cursorAfter', values: [after] }));
    const given = [...queries, { method: 'limit', values: [asked] }, ...cursor];
    const { body, characters } = await client.get(path, given, { list: member });
    if (characters > manyCharacters) limit = Math.max(1, Math.floor(asked / 2));
    else if (characters < fewCharacters) limit = Math.min(longestLimit, asked * 2);
    return { page: (body[member] as unknown[]).map(recordOf), asked };
  };
  const mayAskOtherwise = (error: unknown): boolean => {
    if (!(error instanceof ApiError)) return false;
    const isTooLarge = ['general_query_limit_exceeded', 'general_answer_too_large'].includes(error.type);
    if (error.type === 'general_cursor_not_found' && cursors.length > 1) cursors = cursors.slice(1);
    else if (isTooLarge && limit > 1) limit = Math.ceil(limit / 4);
    else if (total > 0 || error.type === foreignAnswer) throw new BrokenList(path, total, error.message);
    else return false;
    return true;
  };
  for (;;) {
    const { page, asked } = await retry(readPage, mayAskOtherwise);
    const ids = page.flatMap((one) => (problemOf(one) === undefined ? [String(one.$id)] : []));
    if (ids.some((id) => cursors.includes(id)))
      throw new BrokenList(path, total, 'The source sends the same entries again for the next page.');
    if (page.length > 0) yield page;
    total += page.length;
    if (page.length < asked) return;
    if (ids.length === 0) throw new BrokenList(path, total, 'A page has no record with an $id.');
    cursors = ids.reverse();
  }
}

function recordOf(entry: unknown): Json {
  return typeof entry === 'object' && entry !== null && !Array.isArray(entry) ? (entry as Json) : malformed;
}

/** The entries of all pages. */
export async function* listEntries(...list: Parameters<typeof pagesOf>): AsyncGenerator<Json> {
  for await (const page of pagesOf(...list)) yield* page;
}

/** Why a list cannot be read, for callers that go on without it; undefined for errors that end the import, and for broken lists. */
export function whyUnlisted(error: unknown, path: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 401 || error.status === 403)
    return `The key may not read this. Add the scope ${scopeOf(path)} to the key, and run the import again.`;
  if (isMissing(error)) return 'This version of the source has no API for it.';
  return `The source refuses to list it: ${error.message}`;
}

/** True if the source has no such API. */
export function isMissing({ status, type }: ApiError): boolean {
  return status === 404 || status === 405 || type === 'general_feature_unsupported';
}
