import Koa from 'koa';
import type { Features } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import type { Cookies } from './cookies.js';
import { createEnvelope } from './envelope.js';
import type { RequestLimit } from './limit.js';
import type { OriginChecks } from './origins.js';
import type { Middleware, RequestContext } from './request-context.js';
import type { ResultPages } from './result-pages.js';

interface Deps {
  readonly cookies: Cookies;
  readonly limit: RequestLimit;
  readonly origins: OriginChecks;
  readonly resultPages: ResultPages;
  readonly refusals: Features['refusals'];
}

/** Answers errors with the envelope and lets allowed origins read it. Errors of `ctx.throw` are answered as Koa does it. */
export function createErrors(
  runtime: Pick<Runtime, 'log' | 'metrics' | 'clock'>,
  { cookies, limit, origins, resultPages, refusals }: Deps,
): Middleware {
  const envelope = createEnvelope(runtime, { cookies, resultPages });
  const note = (context: RequestContext, error?: unknown) =>
    refusals.note(context.project?.id ?? null, error, { ip: context.ip, origin: context.refusedOrigin });
  return async (ctx, next) => {
    const { context } = ctx.state;
    try {
      await next();
      // The request succeeded, but the browser does not let the page read the response.
      if (context.refusedOrigin !== undefined) note(context);
    } catch (error) {
      await limit.giveBack(context, error);
      const { deferredRefusal } = context;
      note(context, deferredRefusal ?? error);
      if (error instanceof Koa.HttpError && error.expose) {
        ctx.status = error.status;
        ctx.body = error.message;
      } else envelope.write(context, deferredRefusal ?? error);
      if (context.project === undefined) await origins.admitWithoutProject(context);
    }
  };
}
