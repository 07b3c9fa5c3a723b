import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { parseJson } from '#src/platform/json.js';

/** A GraphQL request as a client sends it. */
export interface GraphqlRequest {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
}

const requestShape = z.object({
  query: z.string().min(1),
  operationName: z.string().nullish(),
  // A query string has them as text; some clients send text in a body too.
  variables: z.preprocess(fromText, z.record(z.string(), z.unknown()).nullish()),
  // Nothing is done with them, but what is none is refused.
  extensions: z.record(z.string(), z.unknown()).nullish(),
});

/** Parses a request from a body or a query string. Throws Failure. */
export function parseRequest(input: unknown): GraphqlRequest {
  const parsed = requestShape.safeParse(input);
  if (!parsed.success) {
    const queryMissing = parsed.error.issues.some(({ path }) => path.length === 0 || path[0] === 'query');
    throw queryMissing
      ? new Failure('graphql_no_query')
      : new Failure('general_argument_invalid', {
          message: 'Invalid `variables`, `operationName` or `extensions` param.',
        });
  }
  const { query, operationName, variables } = parsed.data;
  return { query, operationName: operationName ?? undefined, variables: variables ?? undefined };
}

/** Parses JSON text with exact 64-bit integers. Text that is not JSON stays text, which the schema then refuses. */
function fromText(input: unknown): unknown {
  if (typeof input !== 'string') return input;
  try {
    return input === '' ? undefined : parseJson(input);
  } catch {
    return input;
  }
}
