import type { Tracing } from '#src/platform/tracing/index.js';
import type { Middleware } from './request-context.js';
import { knownMethods } from './routes.js';

/** Runs each request as a span of its caller's trace, or of a new one. */
export function createTracedRequests(tracing: Tracing): Middleware {
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
