import { z } from 'zod';
import type { HtmlPage } from '#src/contract/browser.js';
import { declare, rawJson } from '#src/contract/declaration.js';
import { implement, type Operation, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import type { Engine } from './engine.js';

const response = z
  .object({
    data: z.record(z.string(), z.unknown()).nullish(),
    errors: z
      .array(z.looseObject({ message: z.string(), extensions: z.looseObject({ code: z.int(), type: z.string() }) }))
      .optional(),
  })
  .meta({ id: 'GraphqlResponse' });
const responses = z.union([response, z.array(response)]);
const common = {
  tag: 'graphql',
  access: { auth: ['guest', 'user', 'key'] },
  limits: { calls: 'data', charges: true, bodyBytes: 'setting' },
  reply: {
    status: 200,
    shape: rawJson(responses),
    bound: 'budget',
    mediaType: 'application/graphql-response+json',
    alsoReplies: { 400: responses },
    errors: [
      'graphql_no_query',
      'graphql_too_many_queries',
      'graphql_limit_exceeded',
      'graphql_method_unsupported',
      'general_argument_invalid',
    ],
  },
} as const;
const posted = {
  ...common,
  method: 'POST',
  idempotent: false,
  input: { body: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]) },
} as const;

const graphqlApi = declare({
  post: { ...posted, id: 'graphql.post', path: '/graphql', summary: 'Executes GraphQL.' },
  mutation: {
    ...posted,
    id: 'graphql.mutation',
    path: '/graphql/mutation',
    summary: 'Executes GraphQL; the path SDKs use for mutations.',
  },
  get: {
    ...common,
    id: 'graphql.get',
    method: 'GET',
    path: '/graphql',
    summary:
      'Executes a GraphQL query. A browser that opens the address without one gets a page to run it on, for projects with `api.reference`.',
    input: {
      query: z.object({
        query: z.string().optional(),
        operationName: z.string().optional(),
        variables: z.string().optional(),
        extensions: z.string().optional(),
      }),
    },
    reply: { ...common.reply, orPage: true, errors: [...common.reply.errors, 'general_route_not_found'] },
  },
});

/** The GraphQL endpoint. Its engine is loaded by the first call, because many installations never use it. */
export function createGraphql(
  runtime: Pick<Runtime, 'log'>,
  operations: readonly Operation[],
  pageOf: (project: Project, request: RequestFacts) => Promise<HtmlPage>,
): readonly Operation[] {
  const engine = lazy(async () => {
    const { createEngine } = await import('./engine.js');
    return createEngine(runtime, operations);
  });
  const post = async (call: Parameters<Engine['post']>[0]) => (await engine.get()).post(call);
  return implement(graphqlApi, {
    post,
    mutation: post,
    get: async (call) => {
      const { project, query, request } = call;
      if (query.query !== undefined || !request.prefersPage()) return (await engine.get()).get(call, query);
      request.charge(0, 'graphql_limit_exceeded');
      return pageOf(project, request);
    },
  });
}
