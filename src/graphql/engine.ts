import { GraphQLError } from 'graphql';
import { processRequest } from 'graphql-helix';
import { Failure } from '#src/contract/errors.js';
import { graphqlLimits } from '#src/contract/limits.js';
import type { Operation } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import type { Runtime } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import { createDocumentCache, type PreparedOperation } from './document-cache.js';
import { formatError } from './errors.js';
import { type GraphqlRequest, parseRequest } from './request.js';
import { type Caller, createResolvers } from './resolvers.js';
import { createSchema } from './schema.js';

/** A request with its operation, which is undefined where the document has none of that name or is not valid. */
interface PreparedRequest {
  readonly method: 'GET' | 'POST';
  readonly request: GraphqlRequest;
  readonly operation: PreparedOperation | undefined;
}

/** The result of a request as JSON text, and its HTTP status. */
interface PrintedResult {
  readonly status: number;
  readonly text: string;
}

/** Executes GraphQL requests with the rights of their caller. */
export function createEngine({ log }: Pick<Runtime, 'log'>, operations: readonly Operation[]) {
  const resolvers = createResolvers(operations);
  const schema = createSchema(resolvers);
  const documentOf = createDocumentCache(schema, resolvers);

  const formatErrors = (errors: readonly GraphQLError[], caller: Caller) =>
    errors.map((error) => formatError(error, caller, log));
  /** Executes a request by its plan; undefined where there is none, or where graphql-js has to report what is wrong. */
  const executePlan = async (
    { method, request, operation }: PreparedRequest,
    caller: Caller,
  ): Promise<PrintedResult | undefined> => {
    if (operation?.plan === undefined || (operation.isMutation && method === 'GET')) return undefined;
    const result = await operation.plan(request.variables, caller);
    if (result === undefined) return undefined;
    const { data, errors } = result;
    const errorsMember = errors.length === 0 ? '' : `"errors":${printJson(formatErrors(errors, caller))},`;
    return { status: 200, text: `{${errorsMember}"data":${data}}` };
  };
  const executeByLibrary = async ({ method, request }: PreparedRequest, caller: Caller): Promise<PrintedResult> => {
    const result = await processRequest<Caller>({
      schema,
      ...request,
      request: { method, headers: {}, body: undefined, query: undefined },
      parse: (query) => documentOf(query).document,
      // The cache holds validated documents only.
      validate: () => [],
      contextFactory: () => caller,
    });
    if (result.type !== 'RESPONSE') throw new Failure('graphql_no_query');
    if (result.status === 405) throw new Failure('graphql_method_unsupported', { headers: { Allow: 'POST' } });
    const { errors, data } = result.payload;
    if (errors === undefined) return { status: 200, text: printJson(result.payload) };
    const payload = { ...result.payload, errors: formatErrors(errors, caller) };
    return { status: data === undefined ? statusOf(payload.errors, caller) : 200, text: printJson(payload) };
  };
  const execute = async (request: PreparedRequest, caller: Caller): Promise<PrintedResult> =>
    (await executePlan(request, caller)) ?? executeByLibrary(request, caller);

  const prepare = (method: 'GET' | 'POST', input: unknown): PreparedRequest => {
    const request = parseRequest(input);
    try {
      return { method, request, operation: documentOf(request.query).operation(request.operationName) };
    } catch (error) {
      if (error instanceof GraphQLError) return { method, request, operation: undefined };
      throw error;
    }
  };
  /** Counts a call for each root field, and one for a request without an operation, before anything is executed. */
  const charge = (requests: readonly PreparedRequest[], caller: Caller) => {
    const calls = requests.reduce((sum, { operation }) => sum + (operation?.rootFields ?? 1), 0);
    caller.request.charge(calls - 1, 'graphql_limit_exceeded');
    caller.request.answer.share(calls);
  };
  const executeOne = async (request: PreparedRequest, caller: Caller): Promise<RawJson> => {
    charge([request], caller);
    const { status, text } = await execute(request, caller);
    return new RawJson(text, status, undefined, caller.request.mediaType);
  };
  const executeBatch = async (inputs: readonly unknown[], caller: Caller): Promise<RawJson> => {
    if (inputs.length > graphqlLimits.batch) throw new Failure('graphql_too_many_queries');
    if (inputs.length === 0) throw new Failure('graphql_no_query');
    const requests = inputs.map((input) => prepare('POST', input));
    charge(requests, caller);
    const results: string[] = [];
    for (const request of requests) results.push((await execute(request, caller)).text);
    return new RawJson(`[${results.join(',')}]`, 200, undefined, caller.request.mediaType);
  };

  return {
    /** Executes a request or a batch of them; the Appwrite SDKs wrap either in a `query` member. */
    post: async (call: Caller & { readonly body: unknown }): Promise<RawJson> => {
      const { body } = call;
      const wrapped = typeof body === 'object' && body !== null && 'query' in body ? body.query : undefined;
      const input = typeof wrapped === 'object' && wrapped !== null ? wrapped : body;
      return Array.isArray(input) ? executeBatch(input, call) : executeOne(prepare('POST', input), call);
    },
    /** Executes the request of a query string. */
    get: (caller: Caller, query: unknown) => executeOne(prepare('GET', query), caller),
  };
}

/**
 * The status where nothing was executed. GraphQL over HTTP has 400 for its own media type and 200 for `application/json`, by which old clients
 * take a response for one of GraphQL; a request beyond the limits is refused in both.
 */
function statusOf(errors: readonly { readonly extensions: object }[], { request }: Caller): number {
  const isBeyond = errors.some(
    ({ extensions }) => 'type' in extensions && extensions.type === 'graphql_limit_exceeded',
  );
  return request.mediaType !== undefined || isBeyond ? 400 : 200;
}

/** Executes GraphQL. */
export type Engine = ReturnType<typeof createEngine>;
