// The five things one does with documents, over REST and over GraphQL, with answers in one form.
import type { Client } from '../harness/client.js';
import { queryString, type TestCollection } from './setup.js';

/** What came of a call. */
export interface Outcome {
  /** `ok`, or the type of the error. */
  readonly type: string;
  readonly status: number;
  /** Ids of the documents in the answer. */
  readonly ids: readonly string[];
  readonly total: number | undefined;
}

type Data = Readonly<Record<string, unknown>>;

/** The calls on one collection. */
export interface Calls {
  create(client: Client, id: string, data: Data, permissions?: readonly string[]): Promise<Outcome>;
  get(client: Client, id: string): Promise<Outcome>;
  list(client: Client, queries?: readonly unknown[]): Promise<Outcome>;
  update(client: Client, id: string, data: Data, permissions?: readonly string[]): Promise<Outcome>;
  delete(client: Client, id: string): Promise<Outcome>;
  /** Only REST has these. */
  upsert?(client: Client, id: string, data: Data): Promise<Outcome>;
  increment?(client: Client, id: string, attribute: string, bounds?: Data): Promise<Outcome>;
}

type Json = Record<string, unknown>;
const named = (name: string) => (document: unknown) => String((document as Json)[name]);

/** The calls as REST. */
export function restCalls({ documents }: TestCollection): Calls {
  const call = async (client: Client, method: string, path: string, body?: unknown): Promise<Outcome> => {
    const { status, body: answer } = await client.request(method, `${documents}${path}`, body);
    if (status >= 400) return { type: String(answer.type), status, ids: [], total: undefined };
    const list = Array.isArray(answer.documents) ? answer.documents : answer.$id === undefined ? [] : [answer];
    return { type: 'ok', status, ids: list.map(named('$id')), total: answer.total as number | undefined };
  };
  return {
    create: (client, documentId, data, permissions) => call(client, 'POST', '', { documentId, data, permissions }),
    get: (client, id) => call(client, 'GET', `/${id}`),
    list: (client, queries = []) => call(client, 'GET', queryString(queries)),
    update: (client, id, data, permissions) => call(client, 'PATCH', `/${id}`, { data, permissions }),
    delete: (client, id) => call(client, 'DELETE', `/${id}`),
    upsert: (client, id, data) => call(client, 'PUT', `/${id}`, { data }),
    increment: (client, id, attribute, bounds = {}) => call(client, 'PATCH', `/${id}/${attribute}/increment`, bounds),
  };
}

const where = 'databaseId: $d, collectionId: $c';
const shown = '{ id data permissions createdAt updatedAt }';
const texts = {
  documentCreate: `mutation ($d: String!, $c: String!, $id: String!, $data: JSON!, $p: [String!]) { documentCreate(${where}, documentId: $id, data: $data, permissions: $p) ${shown} }`,
  documentGet: `query ($d: String!, $c: String!, $id: String!) { documentGet(${where}, documentId: $id) ${shown} }`,
  documentList: `query ($d: String!, $c: String!, $q: [String!]) { documentList(${where}, queries: $q) { total documents ${shown} } }`,
  documentUpdate: `mutation ($d: String!, $c: String!, $id: String!, $data: JSON, $p: [String!]) { documentUpdate(${where}, documentId: $id, data: $data, permissions: $p) ${shown} }`,
  documentDelete: `mutation ($d: String!, $c: String!, $id: String!) { documentDelete(${where}, documentId: $id) { id data } }`,
};

/** The calls as GraphQL. */
export function graphqlCalls({ databaseId, id: collectionId }: TestCollection): Calls {
  const call = async (client: Client, field: keyof typeof texts, given: Json): Promise<Outcome> => {
    const variables = { d: databaseId, c: collectionId, ...given };
    const { status, body } = await client.post('/graphql', { query: texts[field], variables });
    const [error] = (body.errors ?? []) as { extensions: { type: string } }[];
    // An error of the whole request has no `errors`.
    const type = error?.extensions.type ?? (status >= 400 ? String(body.type) : 'ok');
    const answer = ((body.data as Json | null | undefined)?.[field] ?? {}) as Json;
    const list = Array.isArray(answer.documents) ? answer.documents : answer.id === undefined ? [] : [answer];
    return { type, status, ids: list.map(named('id')), total: answer.total as number | undefined };
  };
  return {
    create: (client, id, data, p) => call(client, 'documentCreate', { id, data, p }),
    get: (client, id) => call(client, 'documentGet', { id }),
    list: (client, queries = []) => call(client, 'documentList', { q: queries.map((query) => JSON.stringify(query)) }),
    update: (client, id, data, p) => call(client, 'documentUpdate', { id, data, p }),
    delete: (client, id) => call(client, 'documentDelete', { id }),
  };
}
