import Koa from 'koa';
import type { Features } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import type { Cookies } from './cookies.js';
import { createEnvelope } from './envelope.js';
import type { RequestLimit } from './limit.js';
import type { Origins } from './origins.js';
import type { Middleware } from './request-context.js';
import type { ResultPages } from './result-pages.js';

interface Deps {
  readonly cookies: Cookies;
  readonly limit: RequestLimit;
  readonly origins: Origins;
  readonly resultPages: ResultPages;
  readonly refusals: Features['refusals'];
}

/** Answers errors with the envelope, which pages of the caller's origin may read; those of `ctx.throw` as Koa answers them. */
export function createErrors(
  runtime: Pick<Runtime, 'log' | 'metrics' | 'clock'>,
  { cookies, limit, origins, resultPages, refusals }: Deps,
): Middleware {
  const envelope = createEnvelope(runtime, { cookies, resultPages });
  return async (ctx, next) => {
    const { context } = ctx.state;
    try {
      await next();
    } catch (error) {
      await limit.giveBack(context, error);
      const { project, deferredRefusal } = context;
      if (project !== undefined) refusals.note(project.id, deferredRefusal ?? error, context.ip);
      if (error instanceof Koa.HttpError && error.expose) {
        ctx.status = error.status;
        ctx.body = error.message;
      } else envelope.write(context, deferredRefusal ?? error);
      if (context.project === undefined) await origins.admitWithoutProject(context);
    }
  };
}
