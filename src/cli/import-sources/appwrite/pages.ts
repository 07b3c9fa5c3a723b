import { type ApiClient, ApiError, type Json } from './client.js';

type Queries = NonNullable<Parameters<ApiClient['get']>[1]>;

/** Entries of the first page, and of the longest. */
const [firstLimit, longestLimit] = [50, 200];
/** Characters of an answer above which pages get shorter, and below which they get longer. */
const [manyCharacters, fewCharacters] = [4_000_000, 1_000_000];

/** Reads a list of the API in pages. `member` is its name in the answer. Throws ApiError and CommandError. */
export async function* pagesOf(
  client: ApiClient,
  path: string,
  member: string,
  queries: Queries = [],
): AsyncGenerator<readonly Json[]> {
  let limit = firstLimit;
  /** Ids of the last page, newest first. A cursor that was deleted concurrently is replaced by the one before it. */
  let cursors: string[] = [];
  for (;;) {
    const [after] = cursors;
    const cursor = after === undefined ? [] : [{ method: 'cursorAfter', values: [after] }];
    let entries: readonly Json[];
    try {
      const { body, characters } = await client.get(path, [
        ...queries,
        { method: 'limit', values: [limit] },
        ...cursor,
      ]);
      entries = Array.isArray(body[member]) ? (body[member] as Json[]) : [];
      if (entries.length < limit) {
        if (entries.length > 0) yield entries;
        return;
      }
      if (characters > manyCharacters) limit = Math.max(1, Math.floor(limit / 2));
      else if (characters < fewCharacters) limit = Math.min(longestLimit, limit * 2);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.type === 'general_cursor_not_found' && cursors.length > 1) {
        cursors = cursors.slice(1);
        continue;
      }
      const isTooLarge = ['general_query_limit_exceeded', 'general_answer_too_large'].includes(error.type);
      if (!isTooLarge || limit === 1) throw error;
      limit = Math.ceil(limit / 4);
      continue;
    }
    yield entries;
    cursors = entries.map(({ $id }) => String($id)).reverse();
  }
}

/** The entries of all pages. */
export async function* listEntries(...list: Parameters<typeof pagesOf>): AsyncGenerator<Json> {
  for await (const page of pagesOf(...list)) yield* page;
}

/** Why a list cannot be read, for callers that go on without it; undefined for errors that end the import. */
export function whyUnlisted(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 401 || error.status === 403)
    return 'The key may not read this. Add the scope to the key and run the import again.';
  if (isMissing(error)) return 'This version of the source has no API for it.';
  return `The source refuses to list it: ${error.message}`;
}

/** True if the source has no such API. */
export function isMissing({ status, type }: ApiError): boolean {
  return status === 404 || status === 405 || type === 'general_feature_unsupported';
}
