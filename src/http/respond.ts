import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, type ZlibOptions } from 'node:zlib';
import type { Runtime } from '#src/platform/index.js';
import { createAccessLog } from './access-log.js';
import { createEventStreamWriter } from './event-stream.js';
import type { FileReply } from './file-reply.js';
import type { RequestLimit } from './limit.js';
import type { Middleware, RequestContext } from './request-context.js';

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

/** Smaller bodies fit into one packet without compression. */
const leastCharacters = 1024;

const [brotli, zip] = [promisify(brotliCompress), promisify<Buffer, ZlibOptions, Buffer>(gzip)];
/** The fastest level of each encoding. Higher levels take up to four times as long and save a few per cent on a list of documents. */
const encoders = {
  br: (body: Buffer) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: (body: Buffer) => zip(body, { level: 1 }),
} as const;

/**
 * Compresses a compressible body off the main thread if the client accepts it. Appends the encoding to the entity tag, because different
 * bytes need a different tag (RFC 9110 §8.8.3).
 */
async function compress({ ctx, response }: RequestContext): Promise<void> {
  const { body } = response;
  if (body === undefined || Buffer.isBuffer(body)) return;
  let characters = 0;
  for (const part of body) characters += part.length;
  if (characters < leastCharacters) return;
  response.vary('Accept-Encoding');
  const accepted = ctx.req.headers['accept-encoding'] === undefined ? [] : ctx.acceptsEncodings();
  const encoding = (['br', 'gzip'] as const).find((name) => accepted.includes(name));
  if (encoding === undefined || accepted[0] === 'identity') return;
  response.body = await encoders[encoding](Buffer.from(body.join('')));
  response.set('Content-Encoding', encoding);
  const etag = response.get('ETag');
  if (etag !== undefined) response.set('ETag', `${etag.slice(0, -1)}-${encoding}"`);
}
