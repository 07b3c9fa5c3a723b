import type { Runtime } from '#src/platform/index.js';
import { createAccessLog } from './access-log.js';
import { compress } from './compression.js';
import { createEventStreamWriter } from './event-stream.js';
import type { FileReply } from './file-reply.js';
import type { RequestLimit } from './limit.js';
import type { Middleware } from './request-context.js';

/** Compresses, logs and writes the response after all other middleware. */
export function createRespond(
  runtime: Pick<Runtime, 'clock' | 'log' | 'metrics' | 'config'>,
  { limit, files }: { readonly limit: RequestLimit; readonly files: FileReply },
): Middleware {
  const { compression } = runtime.config;
  const report = createAccessLog(runtime);
  const writeStream = createEventStreamWriter(runtime);
  return async (ctx, next) => {
    const { context } = ctx.state;
    try {
      await next();
      if (compression && context.response.isCompressible) await compress(context);
      limit.setHeaders(context);
      report(context);
      if (context.file !== undefined) {
        context.budget?.close();
        files.write(context, context.file);
      } else if (context.stream === undefined) context.response.write(ctx, context.budget);
      else {
        context.budget?.close();
        writeStream(context, context.stream);
      }
    } catch (error) {
      context.budget?.close();
      context.file?.stream?.destroy();
      context.file?.leave();
      throw error;
    }
  };
}
