import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  parse,
  validate,
} from 'graphql';
import { processRequest } from 'graphql-helix';
import { Failure } from '#src/contract/errors.js';
import { graphqlLimits } from '#src/contract/limits.js';
import { by, type Operation } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import type { Platform } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import { countRootFields, demandFewTokens, demandWithinLimits, limitExceeded } from './limits.js';
import { type Request, requestOf } from './request.js';
import { type Caller, createResolvers } from './resolvers.js';
import { createSchema } from './schema.js';

/** How many tokens the kept documents have together, so that keeping them costs some megabytes at most. */
const mostKeptTokens = 50_000;

/** Executes what clients ask in GraphQL, in the name of whoever calls. */
export function createEngine({ log }: Pick<Platform, 'log'>, operations: readonly Operation[]) {
  const schema = createSchema(createResolvers(operations));
  const parseQuery = createParser(schema);

  const execute = async (
    method: 'GET' | 'POST',
    request: Request,
    caller: Caller,
  ): Promise<{ status: number; payload: ExecutionResult }> => {
    const result = await processRequest<Caller>({
      schema,
      ...request,
      request: { method, headers: {}, body: undefined, query: undefined },
      parse: parseQuery,
      // The parser has validated the document already, once for each text.
      validate: () => [],
      contextFactory: () => caller,
    });
    if (result.type !== 'RESPONSE') throw new Failure('graphql_no_query');
    if (result.status === 405) throw new Failure('graphql_method_unsupported', { headers: { Allow: 'POST' } });
    const { payload } = result;
    if (payload.errors === undefined) return { status: 200, payload };
    const errors = payload.errors.map((error) => describe(error, caller, log));
    return {
      status: payload.data === undefined ? 400 : 200,
      payload: { ...payload, errors } as unknown as ExecutionResult,
    };
  };
  /** What a request costs: a call for each root field, and one where it cannot be executed. */
  const costOf = ({ query, operationName }: Request): number => {
    try {
      const document = parseQuery(query);
      const operation = getOperationAST(document, operationName);
      return operation ? countRootFields(document, operation) : 1;
    } catch (error) {
      if (error instanceof GraphQLError) return 1;
      throw error;
    }
  };
  /** Counts every call before the first is made: nothing has happened yet where they are too many. */
  const charge = (requests: readonly Request[], caller: Caller) =>
    caller.request.charge(requests.reduce((sum, request) => sum + costOf(request), 0) - 1);
  const reply = ({ status, payload }: { status: number; payload: unknown }) => new RawJson(printJson(payload), status);
  const one = async (method: 'GET' | 'POST', request: Request, caller: Caller) => {
    charge([request], caller);
    return reply(await execute(method, request, caller));
  };

  /** A request, a batch of them, or either wrapped once more as the Appwrite SDKs do. */
  const post = async (call: Caller & { readonly body: unknown }): Promise<RawJson> => {
    const wrapped =
      typeof call.body === 'object' && call.body !== null && 'query' in call.body ? call.body.query : undefined;
    const given = typeof wrapped === 'object' && wrapped !== null ? wrapped : call.body;
    if (!Array.isArray(given)) return one('POST', requestOf(given), call);
    if (given.length > graphqlLimits.batch) throw new Failure('graphql_too_many_queries');
    if (given.length === 0) throw new Failure('graphql_no_query');
    const requests = given.map(requestOf);
    charge(requests, call);
    const answers: unknown[] = [];
    for (const request of requests) answers.push((await execute('POST', request, call)).payload);
    return reply({ status: 200, payload: answers });
  };
  return { post, get: (caller: Caller, query: unknown) => one('GET', requestOf(query), caller) };
}

/** Parses, measures and validates; the result is kept for each text, up to so many. Throws GraphQLError. */
function createParser(schema: GraphQLSchema): (query: string) => DocumentNode {
  const known = new Map<string, DocumentNode>();
  let tokens = 0;
  return (query) => {
    const before = known.get(query);
    if (before !== undefined) return before;
    if (Buffer.byteLength(query) > graphqlLimits.bytes) throw limitExceeded('bytes', graphqlLimits.bytes);
    demandFewTokens(query);
    const document = parse(query);
    demandWithinLimits(document);
    const [error] = validate(schema, document, undefined, { maxErrors: graphqlLimits.errors });
    if (error !== undefined) throw error;
    tokens += document.tokenCount ?? graphqlLimits.tokens;
    if (tokens > mostKeptTokens) {
      known.clear();
      tokens = document.tokenCount ?? graphqlLimits.tokens;
    }
    known.set(query, document);
    return document;
  };
}

/** What a client sees of an error: those of the catalog and of its own query; everything else is masked and logged. */
function describe(error: GraphQLError, caller: Caller, log: Platform['log']) {
  const { originalError, locations, path } = error;
  const place = { ...(locations === undefined ? {} : { locations }), ...(path === undefined ? {} : { path }) };
  const shown = (message: string, extensions: Readonly<Record<string, unknown>>) => ({ message, ...place, extensions });
  const known = originalError instanceof DatabaseError ? failureOf(originalError) : originalError;
  if (known instanceof Failure) return shown(known.message, { code: known.status, type: known.type });
  if (originalError !== undefined && !(originalError instanceof GraphQLError)) {
    const { requestId } = by(caller);
    log.error('graphql.failed', {
      requestId,
      error: originalError instanceof DatabaseError ? originalError.message : originalError.name,
    });
    return shown('Internal error', { code: 500, type: 'general_unknown', requestId });
  }
  // Suggestions would spell out the schema to whoever guesses.
  const message = error.message.replace(/ Did you mean .*\?$/s, '');
  return shown(message, { code: 400, type: 'general_argument_invalid', ...error.extensions });
}

/** What executes GraphQL. */
export type Engine = ReturnType<typeof createEngine>;
