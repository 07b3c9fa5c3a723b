import type { Runtime } from '#src/platform/index.js';
import { createAccessLog } from './access-log.js';
import type { RequestLimit } from './limit.js';
import type { Middleware } from './request-context.js';

/** Completes, reports and writes the response when all other middleware is done. */
export function createRespond(
  runtime: Pick<Runtime, 'clock' | 'log' | 'metrics'>,
  { limit }: { limit: RequestLimit },
): Middleware {
  const report = createAccessLog(runtime);
  return async (ctx, next) => {
    const { context } = ctx.state;
    try {
      await next();
      limit.setHeaders(context);
      report(context);
      context.response.write(ctx, context.room);
    } catch (error) {
      context.room?.close();
      throw error;
    }
  };
}
