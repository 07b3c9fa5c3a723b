import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { parseJson } from '#src/platform/json.js';

/** One operation as a client sends it. */
export interface Request {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
}

const requestShape = z.object({
  query: z.string().min(1),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
});

/** Reads an operation from a body. Throws Failure. */
export function requestOf(given: unknown): Request {
  const parsed = requestShape.safeParse(given);
  if (!parsed.success) {
    const queryMissing = parsed.error.issues.some(({ path }) => path.length === 0 || path[0] === 'query');
    throw queryMissing
      ? new Failure('graphql_no_query')
      : new Failure('general_argument_invalid', { message: 'Invalid `variables` or `operationName` param.' });
  }
  const { query, operationName, variables } = parsed.data;
  return { query, operationName: operationName ?? undefined, variables: variables ?? undefined };
}

/** Reads an operation from a query string, where the variables are JSON text. Throws Failure. */
export function requestOfSearch({ variables, ...given }: { readonly variables?: string | undefined }): Request {
  if (variables === undefined || variables === '') return requestOf(given);
  try {
    return requestOf({ ...given, variables: parseJson(variables) });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Failure('general_argument_invalid', { message: 'Invalid `variables` param: it is not JSON.' });
  }
}
