import { createHash } from 'node:crypto';
import { ReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { FileStoreError, ObjectDamagedError, ObjectNotFoundError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { errorCode } from '#src/platform/runtime/files.js';
import { createNotice, type Notice } from '#src/platform/runtime/notice.js';
import { type FileRow, type FileStatements, fileObjects, type ObjectRow } from '../model/store.js';
import { decode } from './encoding.js';

/** Stream errors of a disconnected client. */
const endsOfClients: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** MD5 and SHA-256 of a file, as hex. */
export interface FileDigests {
  readonly md5: string;
  readonly sha256: string;
}

/** Reads the bytes of files. */
export interface ContentReader {
  /** Bytes from `start` to `end`, inclusive. Throws Failure if they cannot be read. */
  open(project: Project, file: FileRow, start: number, end: number): Promise<Readable>;
  digestsOf(project: Project, file: FileRow): Promise<FileDigests>;
  /** SHA-256 of a part of a file, as hex. */
  digestOfPart(project: Project, file: FileRow, part: ObjectRow): Promise<string>;
}

interface Deps extends Pick<Runtime, 'db' | 'files' | 'sealing' | 'log'> {
  readonly statements: FileStatements;
  /** Logs an unavailable store once, not for every failed download. */
  readonly notice: Notice;
}

/** Reads a file from the objects of its parts, in order. */
export function createContentReader(
  { db, files, sealing, log }: Pick<Runtime, 'db' | 'files' | 'sealing' | 'log'>,
  statements: FileStatements,
): ContentReader {
  const deps: Deps = { db, files, sealing, log, statements, notice: createNotice() };
  return bind(deps, { open, digestsOf, digestOfPart });
}

function open(deps: Deps, project: Project, file: FileRow, start: number, end: number): Promise<Readable> {
  return orFailure(deps, file, async () => {
    const bytes = await iterate(deps, project, file, start, end);
    deps.notice.over();
    return bytes instanceof Readable ? bytes : Readable.from(bytes, { objectMode: false });
  });
}

function digestsOf(deps: Deps, project: Project, file: FileRow): Promise<FileDigests> {
  return orFailure(deps, file, async () => hashed(await iterate(deps, project, file, 0, file.sizeOriginal - 1)));
}

async function digestOfPart(deps: Deps, project: Project, file: FileRow, part: ObjectRow): Promise<string> {
  const range = { part, start: 0, end: part.size - 1 };
  const { sha256 } = await orFailure(deps, file, async () => hashed(await openPart(deps, project, file, range)));
  return sha256;
}

async function hashed(bytes: AsyncIterable<Uint8Array>): Promise<FileDigests> {
  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  for await (const chunk of bytes) {
    md5.update(chunk);
    sha256.update(chunk);
  }
  return { md5: md5.digest('hex'), sha256: sha256.digest('hex') };
}

/** Reads bytes of a file, and maps errors of the store. */
function orFailure<T>(deps: Deps, file: FileRow, read: () => Promise<T>): Promise<T> {
  return read().catch(async (error: unknown) => {
    throw await asFailure(deps, error, file);
  });
}

async function iterate(deps: Deps, project: Project, file: FileRow, start: number, end: number) {
  const [first, ...rest] = await rangesOf(deps, file, start, end);
  if (first === undefined) throw await missing(deps, file);
  const opened = await openPart(deps, project, file, first);
  // Streams a single unencoded part directly from disk; its size was checked.
  if (rest.length === 0 && opened instanceof ReadStream)
    return opened.once('error', (error) => logFailedDisk(deps, error));
  const whole = async function* () {
    try {
      yield* opened;
      for (const next of rest) yield* await openPart(deps, project, file, next);
    } catch (error) {
      // The response has started, so the error can only be logged.
      throw await asFailure(deps, error, file);
    }
  };
  return begun(whole());
}

/** A part of a file, and the range inside it. */
interface PartRange {
  readonly part: ObjectRow;
  readonly start: number;
  readonly end: number;
}

async function rangesOf(deps: Deps, file: FileRow, start: number, end: number): Promise<readonly PartRange[]> {
  const rows = await deps.db.all(deps.statements.parts({ bucketKey: file.bucketKey, fileId: file.id }));
  let at = 0;
  const ranges: PartRange[] = [];
  for (const row of rows) {
    const part = fileObjects.decode(row);
    if (at <= end && at + part.size > start)
      ranges.push({ part, start: Math.max(0, start - at), end: Math.min(part.size, end - at + 1) - 1 });
    at += part.size;
  }
  if (at !== file.sizeOriginal) throw await missing(deps, file);
  return ranges;
}

function openPart({ files, sealing }: Deps, project: Project, file: FileRow, { part, start, end }: PartRange) {
  const key = file.encryption ? sealing.objectKey(project.id, project.dataKey, part.key) : undefined;
  return decode(files, part, { gzip: file.compression === 'gzip', key }, { start, end });
}

async function asFailure(deps: Deps, error: unknown, file: FileRow): Promise<unknown> {
  if (error instanceof ObjectNotFoundError) return missing(deps, file, error);
  if (error instanceof ObjectDamagedError) {
    deps.log.error('files.bytes-damaged', { project: file.projectId, file: file.id });
    return unreadable('damaged', error);
  }
  const code = error instanceof FileStoreError ? error.code : errorCode(error);
  // An interrupted stream fails with an error of the operating system.
  if (!(error instanceof FileStoreError) && !isOfSystem(code)) return error;
  logFailed(deps, code);
  return new Failure('general_unavailable', { cause: error });
}

/** Failure for missing bytes: not found if the file was deleted concurrently, else temporarily unavailable. */
async function missing({ db, log, statements }: Deps, file: FileRow, cause?: unknown): Promise<Failure> {
  const row = await db.one(statements.find({ bucketKey: file.bucketKey, id: file.id }));
  if (row === undefined) return new Failure('storage_file_not_found', { cause });
  log.error('files.bytes-missing', { project: file.projectId, file: file.id });
  return unreadable('missing', cause);
}

function unreadable(state: 'missing' | 'damaged', cause: unknown): Failure {
  return new Failure('general_unavailable', {
    message: `The bytes of the file are ${state}. An operator can restore them.`,
    retryAfter: fileLimits.missingRetrySeconds,
    cause,
  });
}

function logFailed({ notice, log }: Deps, code: string): void {
  if (notice.isNews(code)) log.error('files.read-failed', { code });
}

/** Logs a disk error by its system code. Ignores errors of a disconnected client. */
function logFailedDisk(deps: Deps, error: unknown): void {
  const code = errorCode(error);
  if (isOfSystem(code) && !endsOfClients.has(code)) logFailed(deps, code);
}

/** Reads the first chunk ahead, so that unreadable bytes are noticed before the response starts. */
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
