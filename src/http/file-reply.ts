import { pipeline } from 'node:stream';
import { Failure } from '#src/contract/errors.js';
import type { FileContent } from '#src/contract/file-content.js';
import { answerLimits, fileLimits } from '#src/contract/limits.js';
import { Quota } from '#src/platform/admission/quota.js';
import type { RequestContext } from './request-context.js';

/** A byte range to send; both ends are inclusive. */
interface SentRange {
  readonly start: number;
  readonly end: number;
}

/** Prevents browsers from running uploaded files or embedding them in frames. */
const filePolicy = "sandbox; default-src 'none'; frame-ancestors 'none'";

/**
 * Exceptions by media type. An SVG in an <img> may use its own styles. The PDF viewers of browsers do not work in a sandbox; without one, a
 * PDF still cannot run scripts.
 */
const policies: Readonly<Record<string, string>> = {
  'image/svg+xml': `${filePolicy}; style-src 'unsafe-inline'; img-src data:; font-src data:`,
  'application/pdf': "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'",
};

/** Answers with files. */
export interface FileReply {
  /** Sets the status and the headers, and opens the file. Throws Failure. */
  prepare(context: RequestContext, file: FileContent, caller: string): Promise<void>;
  /** Writes the response. Disconnects a client that reads nothing for `answerLimits.leaveMs`. */
  write(context: RequestContext, nullable: NonNullable<RequestContext['file']>): void;
}

function createDownloadSlots(): Quota {
  const { downloadsAtOnce: all, downloadsOfCaller: ofOwner, retrySeconds: retryAfter } = fileLimits;
  return new Quota({ all, ofOwner, refuse: () => new Failure('general_unavailable', { retryAfter }) });
}

/** Answers with a file: whole, as the requested range (RFC 9110 §14), or as 304 if the client has it (§13). */
export function createFileReply(): FileReply {
  const slots = createDownloadSlots();
  return {
    prepare: async (context, file, caller) => {
      const { ctx, req, response } = context;
      const etag = `"${file.etag}"`;
      response.set('ETag', etag);
      const { cacheSeconds } = file;
      response.set(
        'Cache-Control',
        cacheSeconds === undefined ? 'private, no-cache' : `public, max-age=${cacheSeconds}`,
      );
      response.set('Content-Security-Policy', policies[file.type] ?? filePolicy);
      response.set('Cross-Origin-Resource-Policy', 'cross-origin');
      if (isHeld(req.headers['if-none-match'], etag)) {
        ctx.status = 304;
        response.body = [];
        return;
      }
      const ifRange = req.headers['if-range'];
      // RFC 9110 §14.2: ranges apply to GET only.
      const isRanged = ctx.method === 'GET' && (ifRange === undefined || ifRange === etag);
      const range = isRanged ? rangeOf(req.headers.range, file.size) : undefined;
      const { start, end } = range ?? { start: 0, end: file.size - 1 };
      const leave = slots.hold(caller);
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
    write: ({ ctx, response }, { stream, leave }) => {
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

/** True if the client already has this version (RFC 9110 §13.1.2). */
function isHeld(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((entry) => ['*', etag].includes(entry.trim().replace(/^W\//, '')));
}

/**
 * Parses the requested range; undefined for the whole file, also for units other than bytes. Throws Failure `storage_invalid_range`, also
 * for multiple ranges.
 */
function rangeOf(header: string | undefined, size: number): SentRange | undefined {
  if (header === undefined || !/^bytes\s*=/i.test(header)) return undefined;
  // Numbers too large for JavaScript are beyond the end of any file.
  const [match, first = '', last = ''] = /^bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header) ?? [];
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (match === undefined || (first === '' && Number(last) === 0) || start > end)
    throw new Failure('storage_invalid_range', { headers: { 'Content-Range': `bytes */${size}` } });
  return { start, end };
}

/** Builds the header with an ASCII fallback and the full name (RFC 6266). */
function dispositionOf({ name, isInline }: FileContent): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${isInline ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
