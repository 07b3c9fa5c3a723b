import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { readJson } from '#src/platform/text/json.js';

/** A GraphQL request as a client sends it. */
export interface GraphqlRequest {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
}

/** An object, or its JSON text: query strings contain text, and some clients also send text in a body. */
const map = z.preprocess(fromText, z.record(z.string(), z.unknown()).nullish());
const requestShape = z.object({
  query: z.string().min(1),
  operationName: z.string().nullish(),
  variables: map,
  // Ignored, but must be an object.
  extensions: map,
});

/** A persisted query: a request that refers to a stored query by hash or id. */
const noQuery = { query: z.literal('').nullish() };
const persistedShape = z.union([
  z.looseObject({ ...noQuery, documentId: z.string().min(1) }),
  z.looseObject({
    ...noQuery,
    extensions: z.preprocess(fromText, z.looseObject({ persistedQuery: z.looseObject({}) })),
  }),
]);

/** Parses a request from a body or a query string. Throws Failure. */
export function parseRequest(input: unknown): GraphqlRequest {
  const parsed = requestShape.safeParse(input);
  if (!parsed.success) {
    if (persistedShape.safeParse(input).success) throw persistedQueryRefused();
    const queryMissing = parsed.error.issues.some(({ path }) => path.length === 0 || path[0] === 'query');
    throw queryMissing
      ? new Failure('graphql_no_query')
      : new Failure('general_argument_invalid', {
          message: 'Invalid `variables`, `operationName` or `extensions` param.',
        });
  }
  const { query, operationName, variables } = parsed.data;
  return { query, operationName: operationName || undefined, variables: variables ?? undefined };
}

/** Clients recognise this error by its message or code, and then send the whole query. */
function persistedQueryRefused(): Failure {
  const error = { message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } };
  return new Failure('graphql_no_query', {
    message: 'This service stores no queries. Send the whole query.',
    members: { errors: [error] },
  });
}

/** Parses JSON text with exact 64-bit integers. Invalid JSON is returned as text, which the schema rejects. */
function fromText(input: unknown): unknown {
  if (typeof input !== 'string') return input;
  try {
    return input === '' ? undefined : readJson(input);
  } catch {
    return input;
  }
}
