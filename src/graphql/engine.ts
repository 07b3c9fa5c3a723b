import { GraphQLError, type GraphQLSchema, OperationTypeNode } from 'graphql';
import { processRequest } from 'graphql-helix';
import { Failure } from '#src/contract/errors.js';
import { graphqlLimits } from '#src/contract/limits.js';
import { auditContextOf, type Operation } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { printJson } from '#src/platform/text/json.js';
import { createDocumentCache, type DocumentCache, type PreparedOperation } from './document-cache.js';
import { type GraphqlRequest, parseRequest } from './request.js';
import { createResolvers, type GraphqlCaller } from './resolvers.js';
import { createSchema } from './schema.js';

/** A request with its operation; undefined if the document is invalid or has no operation with that name. */
interface PreparedRequest {
  readonly method: 'GET' | 'POST';
  readonly request: GraphqlRequest;
  readonly operation: PreparedOperation | undefined;
}

/** The result of a request as JSON text, with its HTTP status. */
interface PrintedResult {
  readonly status: number;
  readonly text: string;
}

/** Executes GraphQL. */
export interface Engine {
  /** Executes a request or a batch. Appwrite's SDKs wrap either one in a `query` member. */
  post(call: GraphqlCaller & { readonly body: unknown }): Promise<RawJson>;
  /** Executes the request in a query string. */
  get(caller: GraphqlCaller, query: unknown): Promise<RawJson>;
}

interface Deps extends Pick<Runtime, 'log'> {
  readonly schema: GraphQLSchema;
  readonly documentOf: DocumentCache;
}

/** Executes GraphQL requests with the permissions of their caller. */
export function createEngine({ log }: Pick<Runtime, 'log'>, operations: readonly Operation[]): Engine {
  const resolvers = createResolvers(operations);
  const schema = createSchema(resolvers);
  const deps: Deps = { log, schema, documentOf: createDocumentCache(schema, resolvers) };
  return bind(deps, { post, get });
}

async function post(deps: Deps, call: GraphqlCaller & { readonly body: unknown }): Promise<RawJson> {
  const { body } = call;
  const wrapped = typeof body === 'object' && body !== null && 'query' in body ? body.query : undefined;
  const input = typeof wrapped === 'object' && wrapped !== null ? wrapped : body;
  return Array.isArray(input) ? executeBatch(deps, input, call) : executeOne(deps, prepare(deps, 'POST', input), call);
}

function get(deps: Deps, caller: GraphqlCaller, query: unknown): Promise<RawJson> {
  return executeOne(deps, prepare(deps, 'GET', query), caller);
}

function prepare({ documentOf }: Deps, method: 'GET' | 'POST', input: unknown): PreparedRequest {
  const request = parseRequest(input);
  try {
    return { method, request, operation: documentOf(request.query).operation(request.operationName) };
  } catch (error) {
    if (error instanceof GraphQLError) return { method, request, operation: undefined };
    throw error;
  }
}

async function executeOne(deps: Deps, request: PreparedRequest, caller: GraphqlCaller): Promise<RawJson> {
  charge([request], caller);
  const { status, text } = await execute(deps, request, caller);
  return new RawJson(text, status, undefined, caller.request.mediaType);
}

async function executeBatch(deps: Deps, inputs: readonly unknown[], caller: GraphqlCaller): Promise<RawJson> {
  if (inputs.length > graphqlLimits.batch) throw new Failure('graphql_too_many_queries');
  if (inputs.length === 0) throw new Failure('graphql_no_query');
  const requests = inputs.map((input) => prepare(deps, 'POST', input));
  charge(requests, caller);
  const results: string[] = [];
  for (const request of requests) results.push((await execute(deps, request, caller)).text);
  return new RawJson(`[${results.join(',')}]`, 200, undefined, caller.request.mediaType);
}

/** Charges one call per root field, or one for a request without an operation, before execution. */
function charge(requests: readonly PreparedRequest[], caller: GraphqlCaller): void {
  const calls = requests.reduce((sum, { operation }) => sum + (operation?.rootFields ?? 1), 0);
  caller.request.charge(calls - 1, 'graphql_limit_exceeded');
  caller.request.budget.share(calls);
}

async function execute(deps: Deps, request: PreparedRequest, caller: GraphqlCaller): Promise<PrintedResult> {
  if (request.operation?.type === OperationTypeNode.SUBSCRIPTION) {
    const errors = formatErrors(deps, [subscriptionRefused()], caller);
    return { status: statusOf(errors, caller), text: printJson({ errors }) };
  }
  return (await executePlan(deps, request, caller)) ?? executeByLibrary(deps, request, caller);
}

function formatErrors({ log }: Deps, errors: readonly GraphQLError[], caller: GraphqlCaller) {
  return errors.map((error) => formatError(error, caller, log));
}

/** Executes a request by its plan; undefined if there is no plan, or if graphql-js must report an error. */
async function executePlan(
  deps: Deps,
  { method, request, operation }: PreparedRequest,
  caller: GraphqlCaller,
): Promise<PrintedResult | undefined> {
  if (operation?.plan === undefined || (operation.type === OperationTypeNode.MUTATION && method === 'GET'))
    return undefined;
  const result = await operation.plan(request.variables, caller);
  if (result === undefined) return undefined;
  const { data, errors } = result;
  const errorsMember = errors.length === 0 ? '' : `"errors":${printJson(formatErrors(deps, errors, caller))},`;
  return { status: 200, text: `{${errorsMember}"data":${data}}` };
}

async function executeByLibrary(
  deps: Deps,
  { method, request }: PreparedRequest,
  caller: GraphqlCaller,
): Promise<PrintedResult> {
  const result = await processRequest<GraphqlCaller>({
    schema: deps.schema,
    ...request,
    request: { method, headers: {}, body: undefined, query: undefined },
    parse: (query) => deps.documentOf(query).document,
    // The cache only contains validated documents.
    validate: () => [],
    contextFactory: () => caller,
  });
  if (result.type !== 'RESPONSE') throw new Failure('graphql_no_query');
  if (result.status === 405) throw new Failure('graphql_method_unsupported', { headers: { Allow: 'POST' } });
  const { errors, data } = result.payload;
  if (errors === undefined) return { status: 200, text: printJson(result.payload) };
  const payload = { ...result.payload, errors: formatErrors(deps, errors, caller) };
  return { status: data === undefined ? statusOf(payload.errors, caller) : 200, text: printJson(payload) };
}

function subscriptionRefused(): GraphQLError {
  return new GraphQLError('GraphQL subscriptions are not supported. Subscribe to channels of /realtime.');
}

/**
 * The status if nothing was executed. GraphQL over HTTP uses 400 with its own media type. With `application/json` it uses 200, because old
 * clients only accept that as a GraphQL response. A request over the limits gets 400 in both cases.
 */
function statusOf(errors: readonly { readonly extensions: object }[], { request }: GraphqlCaller): number {
  const isBeyond = errors.some(
    ({ extensions }) => 'type' in extensions && extensions.type === 'graphql_limit_exceeded',
  );
  return request.mediaType !== undefined || isBeyond ? 400 : 200;
}

/** Formats an error for the client. Errors from the catalog and from the query are passed on; all others are masked and logged. */
function formatError(error: GraphQLError, caller: GraphqlCaller, log: Runtime['log']) {
  const { originalError, locations, path } = error;
  const location = { ...(locations === undefined ? {} : { locations }), ...(path === undefined ? {} : { path }) };
  const format = (message: string, extensions: Readonly<Record<string, unknown>>) => ({
    message,
    ...location,
    extensions,
  });
  const cause = originalError instanceof DatabaseError ? failureOf(originalError) : originalError;
  if (cause instanceof Failure) return format(cause.message, { code: cause.status, type: cause.type });
  if (originalError !== undefined && !(originalError instanceof GraphQLError)) {
    const { requestId } = auditContextOf(caller);
    log.error('graphql.failed', {
      requestId,
      error: originalError instanceof DatabaseError ? originalError.message : originalError.name,
    });
    return format('Internal error', { code: 500, type: 'general_unknown', requestId });
  }
  // Suggestions would reveal names of the schema to clients that guess.
  const message = error.message.replace(/ Did you mean .*\?$/s, '');
  return format(message, { code: 400, type: 'general_argument_invalid', ...error.extensions });
}
