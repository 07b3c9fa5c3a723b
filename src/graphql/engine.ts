import { GraphQLError } from 'graphql';
import { processRequest } from 'graphql-helix';
import { Failure } from '#src/contract/errors.js';
import { graphqlLimits } from '#src/contract/limits.js';
import type { Operation } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import type { Platform } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import { describe } from './errors.js';
import { createPreparing, type PreparedOperation } from './prepared.js';
import { type Request, requestOf } from './request.js';
import { type Caller, createResolvers } from './resolvers.js';
import { createSchema } from './schema.js';

/** A request with the operation that it asks for, where there is one. */
interface Asked {
  readonly method: 'GET' | 'POST';
  readonly request: Request;
  readonly operation: PreparedOperation | undefined;
}

/** An answer as JSON text. */
interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Executes what clients ask in GraphQL, in the name of whoever calls. */
export function createEngine({ log }: Pick<Platform, 'log'>, operations: readonly Operation[]) {
  const resolvers = createResolvers(operations);
  const schema = createSchema(resolvers);
  const prepared = createPreparing(schema, resolvers);

  const describeAll = (errors: readonly GraphQLError[], caller: Caller) =>
    errors.map((error) => describe(error, caller, log));
  /** By its plan; undefined where there is none, or where graphql-js has to say what is wrong. */
  const executePlan = async ({ method, request, operation }: Asked, caller: Caller): Promise<Answer | undefined> => {
    if (operation?.plan === undefined || (operation.isMutation && method === 'GET')) return undefined;
    const outcome = await operation.plan(request.variables, caller);
    if (outcome === undefined) return undefined;
    const { data, errors } = outcome;
    const before = errors.length === 0 ? '' : `"errors":${printJson(describeAll(errors, caller))},`;
    return { status: 200, text: `{${before}"data":${data}}` };
  };
  const executeByLibrary = async ({ method, request }: Asked, caller: Caller): Promise<Answer> => {
    const result = await processRequest<Caller>({
      schema,
      ...request,
      request: { method, headers: {}, body: undefined, query: undefined },
      parse: (query) => prepared(query).document,
      // The document has been validated already, once for each text.
      validate: () => [],
      contextFactory: () => caller,
    });
    if (result.type !== 'RESPONSE') throw new Failure('graphql_no_query');
    if (result.status === 405) throw new Failure('graphql_method_unsupported', { headers: { Allow: 'POST' } });
    const { errors, data } = result.payload;
    if (errors === undefined) return { status: 200, text: printJson(result.payload) };
    const payload = { ...result.payload, errors: describeAll(errors, caller) };
    return { status: data === undefined ? 400 : 200, text: printJson(payload) };
  };
  const execute = async (asked: Asked, caller: Caller): Promise<Answer> =>
    (await executePlan(asked, caller)) ?? executeByLibrary(asked, caller);

  const ask = (method: 'GET' | 'POST', given: unknown): Asked => {
    const request = requestOf(given);
    try {
      return { method, request, operation: prepared(request.query).operation(request.operationName) };
    } catch (error) {
      if (error instanceof GraphQLError) return { method, request, operation: undefined };
      throw error;
    }
  };
  /**
   * Counts a call for each root field, and one where nothing can be executed, before the first is made: nothing has happened yet where they
   * are too many.
   */
  const charge = (all: readonly Asked[], caller: Caller) =>
    caller.request.charge(all.reduce((sum, { operation }) => sum + (operation?.rootFields ?? 1), 0) - 1);
  const one = async (asked: Asked, caller: Caller): Promise<RawJson> => {
    charge([asked], caller);
    const { status, text } = await execute(asked, caller);
    return new RawJson(text, status);
  };

  /** A request, a batch of them, or either wrapped once more as the Appwrite SDKs do. */
  const post = async (call: Caller & { readonly body: unknown }): Promise<RawJson> => {
    const wrapped =
      typeof call.body === 'object' && call.body !== null && 'query' in call.body ? call.body.query : undefined;
    const given = typeof wrapped === 'object' && wrapped !== null ? wrapped : call.body;
    if (!Array.isArray(given)) return one(ask('POST', given), call);
    if (given.length > graphqlLimits.batch) throw new Failure('graphql_too_many_queries');
    if (given.length === 0) throw new Failure('graphql_no_query');
    const all = given.map((each) => ask('POST', each));
    charge(all, call);
    const answers: string[] = [];
    for (const asked of all) answers.push((await execute(asked, call)).text);
    return new RawJson(`[${answers.join(',')}]`, 200);
  };
  return { post, get: (caller: Caller, query: unknown) => one(ask('GET', query), caller) };
}

/** What executes GraphQL. */
export type Engine = ReturnType<typeof createEngine>;
