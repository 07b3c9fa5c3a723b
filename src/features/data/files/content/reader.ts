import { createHash } from 'node:crypto';
import { ReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { FileStoreError, ObjectDamagedError, ObjectNotFoundError } from '#src/platform/file-store/index.js';
import { errorCode } from '#src/platform/files.js';
import type { Runtime } from '#src/platform/index.js';
import { createNotice } from '#src/platform/notice.js';
import { type FileRow, type FileStatements, fileObjects, type ObjectRow } from '../store.js';
import { decode } from './encoding.js';

/** How the stream of a file ends when its client has gone. */
const endsOfClients: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** Reads the bytes of files. */
export interface ContentReader {
  /** From `start` to `end`, both included. Throws Failure where the bytes cannot be read. */
  open(project: Project, file: FileRow, start: number, end: number): Promise<Readable>;
  /** MD5 and SHA-256 of the whole file, as hex. */
  digestsOf(project: Project, file: FileRow): Promise<{ readonly md5: string; readonly sha256: string }>;
  /** SHA-256 of a part of a file, as hex. */
  digestOfPart(project: Project, file: FileRow, part: ObjectRow): Promise<string>;
}

/** Reads files from the objects that hold their parts, one after the other. */
export function createContentReader(
  runtime: Pick<Runtime, 'db' | 'files' | 'sealing' | 'log'>,
  statements: FileStatements,
): ContentReader {
  const { db, files, sealing, log } = runtime;
  const openPart = (project: Project, file: FileRow, part: ObjectRow, start: number, end: number) => {
    const key = file.encryption ? sealing.objectKey(project.id, project.dataKey, part.key) : undefined;
    return decode(files, part, { gzip: file.compression === 'gzip', key }, { start, end });
  };
  /** A file whose bytes are gone is there all the same, unless it was deleted meanwhile. */
  const missing = async (file: FileRow, cause?: unknown): Promise<Failure> => {
    const row = await db.one(statements.find({ bucketKey: file.bucketKey, id: file.id }));
    if (row === undefined) return new Failure('storage_file_not_found', { cause });
    log.error('files.bytes-missing', { project: file.projectId, file: file.id });
    return new Failure('general_unavailable', {
      message: 'The bytes of the file are missing. An operator can restore them.',
      retryAfter: fileLimits.missingRetrySeconds,
      cause,
    });
  };
  /** The parts that a range touches, each with its own range. */
  const partsOf = async (file: FileRow, start: number, end: number) => {
    const rows = await db.all(statements.parts({ bucketKey: file.bucketKey, fileId: file.id }));
    let at = 0;
    const touched: { part: ObjectRow; start: number; end: number }[] = [];
    for (const row of rows) {
      const part = fileObjects.decode(row);
      if (at <= end && at + part.size > start)
        touched.push({ part, start: Math.max(0, start - at), end: Math.min(part.size, end - at + 1) - 1 });
      at += part.size;
    }
    if (at !== file.sizeOriginal) throw await missing(file);
    return touched;
  };
  const damaged = (file: FileRow, cause: unknown): Failure => {
    log.error('files.bytes-damaged', { project: file.projectId, file: file.id });
    return new Failure('general_unavailable', {
      message: 'The bytes of the file are damaged. An operator can restore them.',
      retryAfter: fileLimits.missingRetrySeconds,
      cause,
    });
  };
  // A store that is away is told once, however many downloads it fails.
  const notice = createNotice();
  const logFailed = (code: string): void => {
    if (notice.isNews(code)) log.error('files.read-failed', { code });
  };
  const asFailure = async (error: unknown, file: FileRow): Promise<unknown> => {
    if (error instanceof ObjectNotFoundError) return missing(file, error);
    if (error instanceof ObjectDamagedError) return damaged(file, error);
    const code = error instanceof FileStoreError ? error.code : errorCode(error);
    // A stream that breaks off has the error of the system.
    if (!(error instanceof FileStoreError) && !isOfSystem(code)) return error;
    logFailed(code);
    return new Failure('general_unavailable', { cause: error });
  };
  /** As the system calls it: the stream of a file ends with its client, too, and that is no failure of the disk. */
  const logFailedDisk = (error: unknown): void => {
    const code = errorCode(error);
    if (isOfSystem(code) && !endsOfClients.has(code)) logFailed(code);
  };
  const iterate = async (project: Project, file: FileRow, start: number, end: number) => {
    const [first, ...rest] = await partsOf(file, start, end);
    if (first === undefined) throw await missing(file);
    const opened = await openPart(project, file, first.part, first.start, first.end);
    // A file of the disk goes out as it is; its size was compared.
    if (rest.length === 0 && opened instanceof ReadStream) return opened.once('error', logFailedDisk);
    const whole = async function* () {
      try {
        yield* opened;
        for (const next of rest) yield* await openPart(project, file, next.part, next.start, next.end);
      } catch (error) {
        // In the middle of a response the log alone can say it.
        throw await asFailure(error, file);
      }
    };
    return begun(whole());
  };
  return {
    open: async (project, file, start, end) => {
      try {
        const bytes = await iterate(project, file, start, end);
        notice.over();
        return bytes instanceof Readable ? bytes : Readable.from(bytes, { objectMode: false });
      } catch (error) {
        throw await asFailure(error, file);
      }
    },
    digestsOf: async (project, file) => {
      const md5 = createHash('md5');
      const sha256 = createHash('sha256');
      try {
        for await (const chunk of await iterate(project, file, 0, file.sizeOriginal - 1)) {
          md5.update(chunk);
          sha256.update(chunk);
        }
      } catch (error) {
        throw await asFailure(error, file);
      }
      return { md5: md5.digest('hex'), sha256: sha256.digest('hex') };
    },
    digestOfPart: async (project, file, part) => {
      const sha256 = createHash('sha256');
      try {
        for await (const chunk of await openPart(project, file, part, 0, part.size - 1)) sha256.update(chunk);
      } catch (error) {
        throw await asFailure(error, file);
      }
      return sha256.digest('hex');
    },
  };
}

/** The same bytes, of which the first were read: what cannot be read is noticed before the response begins. */
async function begun(bytes: AsyncGenerator<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const first = await bytes.next();
  let isFirst = true;
  const rest: AsyncIterator<Uint8Array> = {
    next: () => {
      if (!isFirst) return bytes.next();
      isFirst = false;
      return Promise.resolve(first);
    },
    return: () => bytes.return(undefined),
  };
  return { [Symbol.asyncIterator]: () => rest };
}

function isOfSystem(code: string): boolean {
  return /^E[A-Z0-9]+$/.test(code);
}
