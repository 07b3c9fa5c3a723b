import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { FileStoreError, ObjectNotFoundError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { type FileRow, type FileStatements, fileObjects, type ObjectRow } from '../store.js';
import { decode } from './encoding.js';

/** Reads the bytes of files. */
export interface ContentReader {
  /** From `start` to `end`, both included. Throws Failure where the bytes cannot be read. */
  open(project: Project, file: FileRow, start: number, end: number): Promise<Readable>;
  /** MD5 and SHA-256 of the whole file, as hex. */
  digestsOf(project: Project, file: FileRow): Promise<{ readonly md5: string; readonly sha256: string }>;
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
    const rows = await db.all(statements.parts(file.bucketKey, file.id));
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
  const asFailure = async (error: unknown, file: FileRow): Promise<unknown> => {
    if (error instanceof ObjectNotFoundError) return missing(file, error);
    if (!(error instanceof FileStoreError)) return error;
    log.error('files.read-failed', { code: error.code });
    return new Failure('general_unavailable', { cause: error });
  };
  const iterate = async (project: Project, file: FileRow, start: number, end: number) => {
    const [first, ...rest] = await partsOf(file, start, end);
    if (first === undefined) throw await missing(file);
    // What cannot be read is noticed before the response begins.
    const opened = await openPart(project, file, first.part, first.start, first.end);
    if (rest.length === 0) return opened;
    return (async function* () {
      yield* opened;
      for (const next of rest) yield* await openPart(project, file, next.part, next.start, next.end);
    })();
  };
  return {
    open: async (project, file, start, end) => {
      try {
        const bytes = await iterate(project, file, start, end);
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
  };
}
