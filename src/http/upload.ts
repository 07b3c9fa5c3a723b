import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Failure } from '#src/contract/errors.js';
import { uploadIdHeaders } from '#src/contract/headers.js';
import { fileLimits } from '#src/contract/limits.js';
import { refusedMembers } from '#src/contract/shapes.js';
import type { ChunkRange, Upload, UploadedFile } from '#src/contract/upload.js';
import { Quota } from '#src/platform/admission/quota.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { isPlain } from './body.js';
import { endOwnBodyTime, ownBodyTime } from './body-time.js';

const parser = lazy(async () => (await import('@fastify/busboy')).default.Busboy);
/** The name of the form field with the file. */
const fileField = 'file';

/** Creates readers for forms with a file. */
export function createUploadReader(aliases: readonly string[]) {
  const idHeaders = uploadIdHeaders(aliases);
  const { uploadsAtOnce: all, uploadsOfCaller: ofOwner, retrySeconds: retryAfter } = fileLimits;
  const slots = new Quota({ all, ofOwner, refuse: () => new Failure('general_unavailable', { retryAfter }) });
  return (request: IncomingMessage, caller: () => string): Upload =>
    new FormUpload(request, idHeaders, () => slots.hold(caller()));
}

/** A request whose body is a form with a file. Its headers are parsed on demand, because they may be invalid. */
class FormUpload implements Upload {
  readonly #request: IncomingMessage;
  readonly #idHeaders: readonly string[];
  readonly #takeSlot: () => () => void;

  constructor(request: IncomingMessage, idHeaders: readonly string[], takeSlot: () => () => void) {
    this.#request = request;
    this.#idHeaders = idHeaders;
    this.#takeSlot = takeSlot;
  }

  get chunk(): ChunkRange | undefined {
    return chunkOf(this.#request.headers['content-range']);
  }

  get fileId(): string | undefined {
    const { headers } = this.#request;
    const value = this.#idHeaders.map((name) => headers[name]).find((text) => text !== undefined && text !== '');
    return typeof value === 'string' ? value : undefined;
  }

  get bodyBytes(): number | undefined {
    const length = Number(this.#request.headers['content-length']);
    return Number.isSafeInteger(length) ? length : undefined;
  }

  async read<T>(take: Parameters<typeof readForm<T>>[1]): Promise<{ readonly fields: unknown; readonly file: T }> {
    const leave = this.#takeSlot();
    try {
      return await readForm(this.#request, take);
    } finally {
      leave();
    }
  }
}

/** Parses `Content-Range`. Throws Failure `storage_invalid_content_range`. */
function chunkOf(header: string | undefined): ChunkRange | undefined {
  if (header === undefined) return undefined;
  const [, start, end, size] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(header.trim()) ?? [];
  // In Appwrite's web SDKs up to version 10, the last chunk ends at the size instead of one byte before it.
  const chunk = { start: Number(start), end: Number(end) - (end === size ? 1 : 0), size: Number(size) };
  if (size === undefined || chunk.start > chunk.end || chunk.end >= chunk.size)
    throw new Failure('storage_invalid_content_range');
  return chunk;
}

/** Reads the form of a request and streams its file with backpressure. */
async function readForm<T>(
  request: IncomingMessage,
  take: (file: UploadedFile) => Promise<T>,
): Promise<{ fields: unknown; file: T }> {
  const Busboy = await parser.get();
  const type = request.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*;/i.test(type) || !isPlain(request.headers['content-encoding']))
    throw new Failure('general_media_type_unsupported', { message: 'This route only accepts multipart/form-data.' });
  const form = createForm(Busboy, type);
  const fields: Record<string, string | string[]> = {};
  return new Promise((resolve, reject) => {
    let current: { readonly stream: Readable; readonly taken: Promise<T> } | undefined;
    let isRefused = false;
    const fail = (error: Error): void => {
      if (isRefused) return;
      isRefused = true;
      request.unpipe(form);
      request.off('close', onClosed);
      current?.stream.destroy(error);
      request.resume();
      // Waits until the consumer has cleaned up the file before the request is refused. A Failure of the consumer takes precedence.
      Promise.resolve(current?.taken).then(
        () => reject(error),
        (reason: unknown) => reject(reason instanceof Failure ? reason : error),
      );
    };
    const onClosed = (): void => {
      if (!request.complete) fail(new Failure('general_argument_invalid', { message: 'The body broke off.' }));
    };
    form.on('error', (error: unknown) => fail(brokenForm(error)));
    form.on('field', (name: string, value: string, _: boolean, isTruncated: boolean) => {
      const problem = isTruncated ? `a field has more than ${fileLimits.fieldBytes} bytes` : problemOf(name, value);
      if (problem === undefined) add(fields, name, value);
      else fail(badForm(problem));
    });
    form.on('file', (name: string, stream: Readable, fileName: string | undefined) => {
      // A truncated file only emits an error on its own stream.
      stream.on('error', (error) => fail(error instanceof Failure ? error : brokenForm(error)));
      // The parser still emits buffered parts after a refusal.
      if (isRefused) return;
      if (name !== fileField) {
        fail(badForm(`the file must be in the field ${fileField}`));
        return;
      }
      // While the file is read, a minimum rate applies. The fields before and after it use the normal body timeout.
      ownBodyTime(request);
      stream.once('close', () => endOwnBodyTime(request));
      const taken = take({ name: fileName ?? '', fields: { ...fields }, bytes: paced(stream) });
      current = { stream, taken };
      taken.catch(fail);
    });
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'])
      form.on(limit, () => fail(badForm(`it has at most one file and ${fileLimits.fields} fields`)));
    form.on('finish', () => {
      request.off('close', onClosed);
      if (current === undefined) reject(new Failure('storage_file_empty'));
      else current.taken.then((file) => resolve({ fields, file }), reject);
    });
    request.on('close', onClosed);
    request.on('error', (error) => fail(brokenForm(error)));
    request.pipe(form);
  });
}

/** Describes the problem with a field; undefined if there is none. */
function problemOf(name: string, value: string): string | undefined {
  if (refusedMembers.has(name)) return `a field must not be called ${name}`;
  return value.isWellFormed() && !value.includes('\0') ? undefined : 'a field must not hold NUL characters';
}

/** A `filename` parameter that is followed by `filename*`. */
const approximateName = /;\s*filename\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^;"]*)(?=;\s*filename\*\s*=)/i;

/**
 * Drops `filename` if `filename*` follows, which has precedence (RFC 6266 §4.3) but which Busboy then ignores, without an option to change that.
 * PowerShell, Spring and Apache's client send both, the first as `=?utf-8?B?…?=` or with question marks.
 */
function preferExactNames(form: object): void {
  const { _parser } = form as { readonly _parser: { readonly parser: EventEmitter } };
  _parser.parser.prependListener('part', (part: EventEmitter) => {
    part.prependListener('header', (header: Record<string, string[] | undefined>) => {
      header['content-disposition'] = header['content-disposition']?.map((text) => text.replace(approximateName, ''));
    });
  });
}

function createForm(Busboy: Awaited<ReturnType<typeof parser.get>>, type: string) {
  const { fields, fieldBytes, partHeaders, partHeaderBytes } = fileLimits;
  try {
    const form = new Busboy({
      headers: { 'content-type': type },
      limits: {
        fieldNameSize: 100,
        fieldSize: fieldBytes,
        fields,
        files: 1,
        parts: fields + 1,
        headerPairs: partHeaders,
        headerSize: partHeaderBytes,
      },
    });
    preferExactNames(form);
    return form;
  } catch (error) {
    throw brokenForm(error);
  }
}

/** Adds a field. `name[]` and repeated names become lists. */
function add(fields: Record<string, string | string[]>, name: string, value: string): void {
  const [, list] = /^([^[\]]+)\[\d*\]$/.exec(name) ?? [];
  const key = list ?? name;
  const before = Object.hasOwn(fields, key) ? fields[key] : undefined;
  if (before === undefined) fields[key] = list === undefined ? value : [value];
  else fields[key] = [before, value].flat();
}

/** Yields the bytes of a file. Throws Failure `general_request_timeout` if the client sends too slowly while the consumer waits. */
async function* paced(stream: Readable): AsyncIterable<Uint8Array> {
  let bytes = 0;
  let isAwaited = true;
  const timer = setInterval(() => {
    if (isAwaited && bytes < fileLimits.slowBytes) stream.destroy(new Failure('general_request_timeout'));
    bytes = 0;
  }, fileLimits.slowSeconds * 1000).unref();
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      isAwaited = false;
      yield chunk;
      isAwaited = true;
    }
  } finally {
    clearInterval(timer);
  }
}

function badForm(problem: string): Failure {
  return new Failure('general_argument_invalid', { message: `The form is not valid: ${problem}.` });
}

function brokenForm(cause: unknown): Failure {
  return new Failure('general_argument_invalid', { message: 'The form is not valid multipart/form-data.', cause });
}
