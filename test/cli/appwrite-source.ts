// A server that answers lists as Appwrite does, for imports from sources with faults.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Json = Record<string, unknown>;
/** Entries by the name of the list in the answer, or an answer of its own. `after` is the id of the cursor. */
export type SourceList =
  | readonly [member: string, entries: readonly unknown[]]
  | ((response: ServerResponse, after: string | undefined) => void);

export const at = '2024-05-06T07:08:09.010+00:00';
export const times = { $createdAt: at, $updatedAt: at };
/** A user as the API sends it. */
export const sourceUser = (id: string, more: Json = {}): Json => ({
  ...{ $id: id, ...times, name: id, password: '', hash: 'argon2', hashOptions: {}, registration: at, status: true },
  ...{ labels: [], passwordUpdate: at, email: `${id}@mail.example`, phone: '', emailVerification: true },
  ...{ phoneVerification: false, mfa: false, prefs: {}, targets: [], accessedAt: at, ...more },
});
export const sourceCollection = (id: string, keys: readonly string[], $permissions: string[] = []): Json => ({
  ...{ $id: id, ...times, $permissions, databaseId: 'blog', name: id, enabled: true, documentSecurity: true },
  attributes: keys.map((key) => ({
    ...{ key, type: 'string', status: 'available', error: '', required: false, array: false, default: null, size: 99 },
  })),
  indexes: [],
});
export const sourceDocument = (id: string, data: Json, $permissions: string[] = []): Json => ({
  ...{ $id: id, ...times, $permissions, $databaseId: 'blog', $sequence: 1, ...data },
});

/** Sends an answer that asks to be repeated at once. */
export const answer = (response: ServerResponse, status: number, type: string, text: string): void =>
  void response.writeHead(status, { 'content-type': type, 'retry-after': '0' }).end(text);
export const json = (response: ServerResponse, status: number, body: Json): void =>
  answer(response, status, 'application/json', JSON.stringify(body));
/** The next page of a list. */
export function page(
  response: ServerResponse,
  member: string,
  entries: readonly unknown[],
  after?: string,
  limit = 50,
): void {
  const from = after === undefined ? 0 : entries.findIndex((one) => (one as Json | null)?.$id === after) + 1;
  json(response, 200, { total: entries.length, [member]: entries.slice(from, from + limit) });
}

/** Starts a source. Lists can be changed while it serves. */
export async function appwriteSource(lists: Record<string, SourceList>) {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://source');
    const queries: { method: string; values: unknown[] }[] = url.searchParams
      .getAll('queries[]')
      .map((query) => JSON.parse(query));
    const queried = (method: string) => queries.find((query) => query.method === method)?.values[0];
    const after = queried('cursorAfter') as string | undefined;
    const list = lists[url.pathname.replace('/v1', '')];
    if (list === undefined) json(response, 404, { type: 'general_route_not_found', message: 'Route not found.' });
    else if (typeof list === 'function') list(response, after);
    else page(response, ...list, after, Number(queried('limit')));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    lists,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The lists of a source with one database `blog`. */
export function sourceLists(
  users: unknown[],
  collections: Record<string, readonly [collection: Json, documents: unknown[]]>,
): Record<string, SourceList> {
  const documents = Object.entries(collections).map(([id, [, entries]]): [string, SourceList] => [
    `/databases/blog/collections/${id}/documents`,
    ['documents', entries],
  ]);
  return {
    '/users': ['users', users],
    '/users/identities': ['identities', []],
    '/teams': ['teams', []],
    '/databases': ['databases', [{ $id: 'blog', name: 'Blog', ...times, enabled: true }]],
    '/databases/blog/collections': ['collections', Object.values(collections).map(([collection]) => collection)],
    '/storage/buckets': ['buckets', []],
    ...Object.fromEntries(documents),
  };
}
