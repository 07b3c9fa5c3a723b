import { pipeline } from 'node:stream';
import { Failure } from '#src/contract/errors.js';
import type { FileContent } from '#src/contract/file-content.js';
import { answerLimits, fileLimits } from '#src/contract/limits.js';
import type { RequestContext } from './request-context.js';
import { createShares } from './shares.js';

/** Bytes that a response sends, both ends included. */
interface SentRange {
  readonly start: number;
  readonly end: number;
}

/** What a browser must not do with a file of somebody else: run it, or take it for something else than it is said to be. */
const filePolicy = "sandbox; default-src 'none'; frame-ancestors 'none'";

/** Answers with files: whole, or the range that is asked for (RFC 9110 §14), or 304 where the client has it (§13). */
export function createFileReply() {
  const takePlace = createShares({ all: fileLimits.downloadsAtOnce, ofCaller: fileLimits.downloadsOfCaller });
  return {
    /** Sets status and headers and opens the bytes. Throws Failure. */
    prepare: async (context: RequestContext, file: FileContent, caller: string): Promise<void> => {
      const { ctx, req, response } = context;
      const etag = `"${file.etag}"`;
      response.set('ETag', etag);
      response.set('Cache-Control', 'private, no-cache');
      response.set('Content-Security-Policy', filePolicy);
      response.set('Cross-Origin-Resource-Policy', 'cross-origin');
      if (isHeld(req.headers['if-none-match'], etag)) {
        ctx.status = 304;
        response.body = [];
        return;
      }
      const ifRange = req.headers['if-range'];
      const range = ifRange === undefined || ifRange === etag ? rangeOf(req.headers.range, file.size) : undefined;
      const { start, end } = range ?? { start: 0, end: file.size - 1 };
      const leave = takePlace(caller);
      try {
        const stream = ctx.method === 'HEAD' ? undefined : await file.open(start, end);
        context.file = { stream, leave };
      } catch (error) {
        leave();
        throw error;
      }
      ctx.status = range === undefined ? 200 : 206;
      if (range !== undefined) response.set('Content-Range', `bytes ${start}-${end}/${file.size}`);
      response.set('Accept-Ranges', 'bytes');
      response.set('Content-Type', file.type);
      response.set('Content-Length', String(end - start + 1));
      response.set('Content-Disposition', dispositionOf(file));
    },
    /** Writes the response; one whose reader takes nothing for a while is cut off. */
    write: ({ ctx, response }: RequestContext, { stream, leave }: NonNullable<RequestContext['file']>): void => {
      const { res } = ctx;
      response.writeHeadOnly(ctx);
      if (stream === undefined) {
        leave();
        res.end();
        return;
      }
      let sent = -1;
      const timer = setInterval(() => {
        const now = res.socket?.bytesWritten ?? 0;
        if (now === sent) res.destroy();
        sent = now;
      }, answerLimits.leaveMs).unref();
      pipeline(stream, res, () => {
        clearInterval(timer);
        leave();
      });
    },
  };
}

/** Answers with files. */
export type FileReply = ReturnType<typeof createFileReply>;

/** Whether the client has these bytes (RFC 9110 §13.1.2). */
function isHeld(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((entry) => ['*', etag].includes(entry.trim().replace(/^W\//, '')));
}

/**
 * The one range of a request; undefined for the whole file, which is also the answer to other units. Throws Failure
 * `storage_invalid_range`, also for several ranges.
 */
function rangeOf(header: string | undefined, size: number): SentRange | undefined {
  if (header === undefined || !/^bytes\s*=/i.test(header)) return undefined;
  // Numbers beyond those of JavaScript are beyond every file, too.
  const [match, first = '', last = ''] = /^bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header) ?? [];
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (match === undefined || (first === '' && Number(last) === 0) || start > end)
    throw new Failure('storage_invalid_range', { headers: { 'Content-Range': `bytes */${size}` } });
  return { start, end };
}

/** The name for clients that know ASCII only, and the whole name (RFC 6266). */
function dispositionOf({ name, isInline }: FileContent): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${isInline ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
