import { z } from 'zod';
import { declare, implement, json, type Operation } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import { lazily } from '#src/platform/lazily.js';
import type { Engine } from './engine.js';

const response = z
  .object({
    data: z.record(z.string(), z.unknown()).nullish(),
    errors: z
      .array(z.looseObject({ message: z.string(), extensions: z.looseObject({ code: z.int(), type: z.string() }) }))
      .optional(),
  })
  .meta({ id: 'GraphqlResponse' });
const answer = z.union([response, z.array(response)]);
const common = {
  tag: 'graphql',
  auth: ['guest', 'user', 'key'],
  limit: 'data',
  status: 200,
  reply: json(answer),
  alsoReplies: { 400: answer },
  errors: ['graphql_no_query', 'graphql_too_many_queries', 'graphql_method_unsupported', 'general_argument_invalid'],
} as const;
const body = z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]);

const graphqlApi = declare({
  post: { ...common, id: 'graphql.post', method: 'POST', path: '/graphql', summary: 'Executes GraphQL.', body },
  mutation: {
    ...common,
    id: 'graphql.mutation',
    method: 'POST',
    path: '/graphql/mutation',
    summary: 'Executes GraphQL; the path SDKs use for mutations.',
    body,
  },
  get: {
    ...common,
    id: 'graphql.get',
    method: 'GET',
    path: '/graphql',
    summary: 'Executes a GraphQL query.',
    query: z.object({
      query: z.string().optional(),
      operationName: z.string().optional(),
      variables: z.string().optional(),
    }),
  },
});

/** The GraphQL endpoint. Its engine, which knows the language, is loaded for the first call: many installations never see one. */
export function createGraphql(platform: Pick<Platform, 'log'>, operations: readonly Operation[]): readonly Operation[] {
  const engine = lazily(async () => {
    const { createEngine } = await import('./engine.js');
    return createEngine(platform, operations);
  });
  const post = async (call: Parameters<Engine['post']>[0]) => (await engine.get()).post(call);
  return implement(graphqlApi, {
    post,
    mutation: post,
    get: async (call) => (await engine.get()).get(call, call.query),
  });
}
