import Koa from 'koa';
import type { Features } from '#src/features/index.js';
import { createGraphql } from '#src/graphql/endpoint.js';
import type { Runtime } from '#src/platform/index.js';
import type { Tracing } from '#src/platform/tracing/index.js';
import { createRequestAuthentication } from './authenticate.js';
import { createCookies } from './cookies.js';
import { createErrors } from './errors.js';
import { createFileReply } from './file-reply.js';
import { createHealth } from './health.js';
import { createOnce } from './idempotency.js';
import { createRequestLimit } from './limit.js';
import { createMailboxPage } from './mailbox-page.js';
import { createOperationMiddleware } from './operation.js';
import { createOps, type ServerState } from './ops.js';
import { createOriginChecks } from './origins.js';
import { createReference } from './reference.js';
import { createReplyWriter } from './reply.js';
import { type AppState, createRequestContext, type Middleware } from './request-context.js';
import { createHeadRules } from './request-head.js';
import { createRespond } from './respond.js';
import { createResultPages } from './result-pages.js';
import { knownMethods } from './routes.js';
import { createRouting } from './routing.js';
import { createStartPage } from './start-page.js';
import { tablesOperations } from './tables.js';
import { createSocketUpgrade } from './upgrade.js';

/**
 * The HTTP side of the service: a Koa application. Its middleware is listed here in the order in which it runs. Add custom middleware to
 * `own`: it runs for every request, its errors are answered, and it may answer with `ctx.status` and `ctx.body`. Headers that it sets with
 * `ctx.set`, before or after `next`, replace those of the operation.
 */
export function createApp(runtime: Runtime, features: Features, own: readonly Middleware[] = []) {
  const { config } = runtime;
  const state: ServerState = { isReady: true, draining: false, operations: [] };
  const reference = createReference(runtime, features.projects);
  state.operations = [
    ...features.operations,
    ...tablesOperations(features.operations),
    ...createGraphql(runtime, [...features.operations, ...features.valueOperations], reference.graphqlPage),
    ...createOps(runtime, features, state),
    ...createHealth(runtime),
    ...reference.operations,
    ...createStartPage(runtime, features.projects),
    ...createMailboxPage(runtime, features.courier),
  ];
  const cookies = createCookies(config.baseUrl);
  const origins = createOriginChecks(runtime, features.projects);
  const limit = createRequestLimit(runtime, features.limits);
  const authentication = createRequestAuthentication(features, { cookies, origins, limit }, config.headerAliases);
  const resultPages = createResultPages(runtime);
  const reply = createReplyWriter(runtime, { cookies, resultPages });
  const files = createFileReply();

  const app = new Koa<AppState>();
  app.use(createRequestContext(runtime));
  if (runtime.tracing !== undefined) app.use(traceRequests(runtime.tracing));
  app.use(createRespond(runtime, { limit, files }));
  app.use(createErrors(runtime, { cookies, limit, origins, resultPages, refusals: features.refusals }));
  for (const middleware of own) app.use(middleware);
  app.use(createHeadRules(config));
  app.use(createRouting(state.operations, { limit, origins }));
  const once = createOnce(features);
  app.use(
    createOperationMiddleware(runtime, state.operations, {
      authentication,
      cookies,
      files,
      limit,
      once,
      origins,
      reply,
    }),
  );
  app.on('error', (error: unknown, ctx: Koa.Context) => {
    // Koa also reports an error if the client closed the connection.
    if (error === ctx.req.socket.errored) return;
    runtime.log.error('request.unanswered', { error: error instanceof Error ? error.name : typeof error });
    if (ctx.headerSent) ctx.res.destroy();
  });
  const { refusals } = features;
  const upgrade = createSocketUpgrade(runtime, features.streams, {
    app,
    state,
    authentication,
    limit,
    origins,
    refusals,
  });
  return { app, state, upgrade };
}

/** Runs each request as a span of its caller's trace, or of a new one. */
function traceRequests(tracing: Tracing): Middleware {
  return (ctx, next) => {
    const { context } = ctx.state;
    const method = knownMethods.has(ctx.method) ? ctx.method : '_OTHER';
    return tracing.request({ method, headers: ctx.req.headers, requestId: context.requestId }, async (span) => {
      context.traceId = span.traceId;
      await next();
      const { operation, errorType } = context;
      span.answered({ status: ctx.status, path: operation?.declaration.path, errorType });
    });
  };
}
