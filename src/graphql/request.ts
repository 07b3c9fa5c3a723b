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
  // In a query string they are text; some clients send text in a body too.
  variables: z.preprocess(fromText, z.record(z.string(), z.unknown()).nullish()),
});

/** Reads an operation from a body or a query string. Throws Failure. */
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

/** Read by us, whole numbers of 64 bits stay exact. What is not JSON is left as it is, and refused as that. */
function fromText(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  try {
    return given === '' ? undefined : parseJson(given);
  } catch {
    return given;
  }
}
