import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, type ZlibOptions } from 'node:zlib';
import type { RequestContext } from './request-context.js';

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
export async function compress({ ctx, response }: RequestContext): Promise<void> {
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
