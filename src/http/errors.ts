import Koa from 'koa';
import type { Runtime } from '#src/platform/index.js';
import type { Cookies } from './cookies.js';
import { createEnvelope } from './envelope.js';
import type { RequestLimit } from './limit.js';
import type { Origins } from './origins.js';
import type { Middleware } from './request-context.js';

/** Answers errors with the envelope, which pages of the caller's origin may read; those of `ctx.throw` as Koa answers them. */
export function createErrors(
  runtime: Pick<Runtime, 'log' | 'metrics' | 'clock'>,
  { cookies, limit, origins }: { cookies: Cookies; limit: RequestLimit; origins: Origins },
): Middleware {
  const envelope = createEnvelope(runtime, cookies);
  return async (ctx, next) => {
    const { context } = ctx.state;
    try {
      await next();
    } catch (error) {
      await limit.giveBack(context, error);
      if (error instanceof Koa.HttpError && error.expose) {
        ctx.status = error.status;
        ctx.body = error.message;
      } else envelope.write(context, context.deferredRefusal ?? error);
      if (context.project === undefined) await origins.admitWithoutProject(context);
    }
  };
}
