import type { Middleware } from './request-context.js';

/** Writes the response when all other middleware is done. */
export const respond: Middleware = async (ctx, next) => {
  const { context } = ctx.state;
  try {
    await next();
    context.response.write(ctx, context.room);
  } catch (error) {
    context.room?.close();
    throw error;
  }
};
