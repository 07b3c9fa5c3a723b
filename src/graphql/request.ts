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
  variables: z.union([z.record(z.string(), z.unknown()), z.string()]).nullish(),
});
const variablesShape = z.record(z.string(), z.unknown());
const invalid = (message: string) => new Failure('general_argument_invalid', { message });

/** Reads an operation from a body or a query string, where the variables are JSON text. Throws Failure. */
export function requestOf(given: unknown): Request {
  const parsed = requestShape.safeParse(given);
  if (!parsed.success) {
    const queryMissing = parsed.error.issues.some(({ path }) => path.length === 0 || path[0] === 'query');
    throw queryMissing ? new Failure('graphql_no_query') : invalid('Invalid `variables` or `operationName` param.');
  }
  const { query, operationName, variables } = parsed.data;
  return { query, operationName: operationName ?? undefined, variables: variablesOf(variables) };
}

/** Whole numbers of 64 bits stay exact in text too. */
function variablesOf(given: string | Readonly<Record<string, unknown>> | null | undefined): Request['variables'] {
  if (typeof given !== 'string') return given ?? undefined;
  if (given === '') return undefined;
  let value: unknown;
  try {
    value = parseJson(given);
  } catch {
    throw invalid('Invalid `variables` param: it is not JSON.');
  }
  const parsed = variablesShape.safeParse(value);
  if (!parsed.success) throw invalid('Invalid `variables` param: it is not an object.');
  return parsed.data;
}
