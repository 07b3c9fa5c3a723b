// The things one does with documents, by every way there is to do them, with answers in one form.
import assert from 'node:assert/strict';
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
  /** Takes back what a client has done, where it is staged in a transaction. */
  rollBack?(client: Client): Promise<void>;
}

type Json = Record<string, unknown>;
const named = (name: string) => (document: unknown) => String((document as Json)[name]);

/** The calls as REST. */
export function restCalls(
  { documents }: Pick<TestCollection, 'documents'>,
  names = documentNames,
): Required<Omit<Calls, 'rollBack'>> {
  const call = async (client: Client, method: string, path: string, body?: unknown): Promise<Outcome> => {
    const { status, body: answer } = await client.request(method, `${documents}${path}`, body);
    if (status >= 400) return { ...nobody, type: String(answer.type).replace(/^row_/, 'document_'), status };
    const many = answer[names.many];
    const list = Array.isArray(many) ? many : answer.$id === undefined ? [] : [answer];
    return { type: 'ok', status, ids: list.map(named('$id')), total: answer.total as number | undefined };
  };
  return {
    create: (client, id, data, permissions) => call(client, 'POST', '', { [names.id]: id, data, permissions }),
    get: (client, id) => call(client, 'GET', `/${id}`),
    list: (client, queries = []) => call(client, 'GET', queryString(queries)),
    update: (client, id, data, permissions) => call(client, 'PATCH', `/${id}`, { data, permissions }),
    delete: (client, id) => call(client, 'DELETE', `/${id}`),
    upsert: (client, id, data) => call(client, 'PUT', `/${id}`, { data }),
    increment: (client, id, attribute, bounds = {}) => call(client, 'PATCH', `/${id}/${attribute}/increment`, bounds),
  };
}

/** What is called otherwise where a document is a row. */
interface Names {
  readonly id: string;
  readonly many: string;
}
const documentNames: Names = { id: 'documentId', many: 'documents' };
const nobody = { ids: [], total: undefined };

/** The calls as REST under the names of tables. */
export function tableCalls({ databaseId, id }: TestCollection): Calls {
  return restCalls({ documents: `/tablesdb/${databaseId}/tables/${id}/rows` }, { id: 'rowId', many: 'rows' });
}

const transactions = '/databases/transactions';

/** The open transaction of each client; those who may not begin one have an id that nobody has. */
function createOpen() {
  const open = new Map<Client, string>();
  return {
    of: async (client: Client): Promise<string> => {
      const known = open.get(client);
      if (known !== undefined) return known;
      const { $id = 'none' } = (await client.post(transactions, {})).body;
      open.set(client, String($id));
      return String($id);
    },
    rollBack: async (client: Client): Promise<void> => {
      const id = open.get(client) ?? 'none';
      open.delete(client);
      if (id !== 'none') (await client.patch(`${transactions}/${id}`, { rollback: true })).expect(200);
    },
  };
}

/** The calls as REST, each staged in a transaction. */
export function stagedCalls({ documents }: TestCollection): Required<Calls> {
  const { of, rollBack } = createOpen();
  const within = (client: Client, transactionId: string): Client => ({
    ...client,
    request: (method, path, body) =>
      method === 'GET'
        ? client.request(method, `${path}${path.includes('?') ? '&' : '?'}transactionId=${transactionId}`)
        : client.request(method, path, { ...(body as object), transactionId }),
  });
  const rest = restCalls({ documents });
  const staged = <R extends readonly unknown[]>(act: (client: Client, ...rest: R) => Promise<Outcome>) => {
    return async (client: Client, ...given: R) => act(within(client, await of(client)), ...given);
  };
  return {
    ...{ create: staged(rest.create), get: staged(rest.get), update: staged(rest.update) },
    ...{ delete: staged(rest.delete), upsert: staged(rest.upsert), increment: staged(rest.increment) },
    // Lists of a transaction are for server keys; what the others see outside of it stays as it is.
    list: rest.list,
    rollBack,
  };
}

/** The calls as operations that a request adds to a transaction; it is read as by `stagedCalls`. */
export function operationCalls({ databaseId, id: collectionId, documents }: TestCollection): Calls {
  const { of, rollBack } = createOpen();
  const rest = restCalls({ documents });
  const add = async (client: Client, action: string, documentId: string, data?: Data): Promise<Outcome> => {
    const operations = [{ databaseId, collectionId, action, documentId, data }];
    const { status, body } = await client.post(`${transactions}/${await of(client)}/operations`, { operations });
    return { ...nobody, status, type: status >= 400 ? String(body.type) : 'ok' };
  };
  return {
    create: (client, id, data) => add(client, 'create', id, data),
    get: rest.get,
    list: rest.list,
    update: (client, id, data) => add(client, 'update', id, data),
    delete: (client, id) => add(client, 'delete', id),
    upsert: (client, id, data) => add(client, 'upsert', id, data),
    increment: (client, id, attribute, bounds = {}) => add(client, 'increment', id, { attribute, ...bounds }),
    rollBack,
  };
}

/** Sends a request of GraphQL. */
type Send = (client: Client, request: Json) => Promise<{ readonly status: number; readonly body: Json }>;
const sendAlone: Send = (client, request) => client.post('/graphql', request);

/** Sends it between two others, of which none may change what the other is answered. */
const sendBetween: Send = async (client, request) => {
  const other = { query: '{ __typename }' };
  const { status, body } = await client.post('/graphql', [other, request, other]);
  if (!Array.isArray(body)) return { status, body };
  assert.deepEqual([body[0], body[2]], Array(2).fill({ data: { __typename: 'Query' } }));
  return { status, body: body[1] as Json };
};

/** The calls as GraphQL, each in a batch. */
export function batchCalls(collection: TestCollection): Calls {
  return graphqlCalls(collection, sendBetween);
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
export function graphqlCalls({ databaseId, id: collectionId }: TestCollection, send: Send = sendAlone): Calls {
  const call = async (client: Client, field: keyof typeof texts, given: Json): Promise<Outcome> => {
    const variables = { d: databaseId, c: collectionId, ...given };
    const { status, body } = await send(client, { query: texts[field], variables });
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
