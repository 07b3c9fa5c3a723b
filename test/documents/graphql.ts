// Speaks GraphQL as a client without any library does.
import assert from 'node:assert/strict';
import type { Answer, Client } from '../harness/client.js';

type Json = Record<string, unknown>;

/** What came back: the fields, and the errors by code and type. */
interface GraphqlAnswer {
  readonly http: Answer;
  readonly data: Record<string, Json | null>;
  readonly errors: {
    readonly code: unknown;
    readonly type: unknown;
    readonly message: string;
    readonly path?: unknown;
  }[];
}

/** Reads an answer of the endpoint; each error must carry a code and a type. */
export function graphqlAnswer(http: Answer): GraphqlAnswer {
  const { data, errors = [] } = http.body as { data?: GraphqlAnswer['data']; errors?: Json[] };
  const read = errors.map(({ message, extensions, path }) => {
    const { code, type } = extensions as Json;
    assert.deepEqual([typeof message, typeof code, typeof type], ['string', 'number', 'string'], http.text);
    return { message: String(message), code, type, path };
  });
  return { http, data: data ?? {}, errors: read };
}

/** Sends a query by POST. */
export async function graphql(client: Client, query: string, variables?: object): Promise<GraphqlAnswer> {
  return graphqlAnswer(await client.post('/graphql', variables === undefined ? { query } : { query, variables }));
}

/** The path that sends a query by GET. */
export function byGet(query: string, more: Readonly<Record<string, string>> = {}): string {
  return `/graphql?${new URLSearchParams({ query, ...more })}`;
}

/** Sends a query by GET. */
export async function graphqlByGet(client: Client, query: string, variables: object): Promise<GraphqlAnswer> {
  return graphqlAnswer(await client.get(byGet(query, { variables: JSON.stringify(variables) })));
}
