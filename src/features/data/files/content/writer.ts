import { createHash } from 'node:crypto';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import { mediaTypeOf, sampleBytes } from '#src/platform/file-store/media-type.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { createNotice, type Notice } from '#src/platform/runtime/notice.js';
import type { Bucket } from '../../buckets/index.js';
import type { FileStatements } from '../model/store.js';
import { encode } from './encoding.js';

/** A part in the file store that does not belong to a file yet. */
export interface WrittenPart {
  readonly key: string;
  readonly size: number;
  readonly storedSize: number;
  /** MD5 and SHA-256, as hex. */
  readonly md5: string;
  readonly sha256: string;
  readonly mimeType: string;
  /** Encoding used: compressed, encrypted. */
  readonly gzip: boolean;
  readonly encryption: boolean;
}

/** Input of one part. */
interface PartInput {
  readonly number: number;
  readonly gzip: boolean;
  readonly encryption: boolean;
  readonly maxBytes: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Writes parts of files to the file store. */
export interface ContentWriter {
  /** Throws Failure `storage_invalid_file_size` and `storage_file_empty`, and then removes the part. */
  write(by: AuditContext, project: Project, bucket: Bucket, part: PartInput): Promise<WrittenPart>;
  /** Removes parts that are not needed. If that fails, a job removes them later. */
  discard(by: AuditContext, keys: readonly string[]): Promise<void>;
}

interface Deps extends Pick<Runtime, 'db' | 'files' | 'sealing' | 'random' | 'clock' | 'log'> {
  readonly statements: FileStatements;
  /** Log an unavailable or full store once, not for every failed upload. */
  readonly notices: { readonly write: Notice; readonly discard: Notice };
}

/** Writes objects. Inserts the row of an object first, so that an unused one is found without listing the whole store. */
export function createContentWriter(
  { db, files, sealing, random, clock, log }: Omit<Deps, 'statements' | 'notices'>,
  statements: FileStatements,
): ContentWriter {
  const notices = { write: createNotice(), discard: createNotice() };
  return bind({ db, files, sealing, random, clock, log, statements, notices }, { write, discard });
}

async function write(
  deps: Deps,
  by: AuditContext,
  project: Project,
  bucket: Bucket,
  { number, gzip, encryption, maxBytes, bytes }: PartInput,
): Promise<WrittenPart> {
  const { db, files, sealing, random, clock, log, statements, notices } = deps;
  const id = random.id();
  // Keeps the directories of a disk store small.
  const key = `${project.id}/${bucket.key}/${id.slice(-2)}/${id}.${number}`;
  await db.work(by, (unit) =>
    unit.run(
      statements.insertObject({
        key,
        projectId: project.id,
        bucketKey: bucket.key,
        fileId: null,
        number,
        size: 0,
        storedSize: 0,
        state: 'writing',
        changedAt: unit.now,
      }),
    ),
  );
  const sealed = encryption ? sealing.objectKey(project.id, project.dataKey, key) : undefined;
  const inspected = inspect(bytes, maxBytes);
  const started = clock.monotonic();
  try {
    const storedSize = await files.write(key, encode(inspected.bytes, { gzip, key: sealed }));
    notices.write.over();
    const { size, md5, sha256, sample } = inspected.end();
    if (size === 0) throw new Failure('storage_file_empty');
    return { key, size, storedSize, md5, sha256, mimeType: await mediaTypeOf(sample), gzip, encryption };
  } catch (error) {
    await discard(deps, by, [key]);
    if (!(error instanceof FileStoreError)) throw error;
    const { code } = error;
    const milliseconds = Math.round(clock.monotonic() - started);
    if (notices.write.isNews(code)) log.error('files.write-failed', { code, milliseconds });
    throw new Failure('general_unavailable', { cause: error });
  }
}

async function discard(
  { db, files, log, statements, notices }: Deps,
  by: AuditContext,
  keys: readonly string[],
): Promise<void> {
  try {
    for (const key of keys) {
      const isLeft = await db.work(by, async (unit) => (await unit.run(statements.claim([key], unit.now))) > 0);
      // Keeps a part that already belongs to a file, even if a later step failed.
      if (!isLeft) continue;
      await files.remove(key);
      await db.work(by, (unit) => unit.run(statements.forget([key])));
      notices.discard.over();
    }
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error;
    if (notices.discard.isNews(name)) log.warn('files.discard-failed', { error: name });
  }
}

/** Counts and hashes bytes as they pass, and keeps the first ones to detect the media type. */
function inspect(bytes: AsyncIterable<Uint8Array>, maxBytes: number) {
  const md5 = createHash('md5');
  const sha256 = createHash('sha256');
  const begin: Uint8Array[] = [];
  let size = 0;
  return {
    bytes: (async function* () {
      for await (const chunk of bytes) {
        if (size < sampleBytes) begin.push(chunk.subarray(0, sampleBytes - size));
        size += chunk.length;
        if (size > maxBytes) throw new Failure('storage_invalid_file_size');
        md5.update(chunk);
        sha256.update(chunk);
        yield chunk;
      }
    })(),
    end: () => ({ size, md5: md5.digest('hex'), sha256: sha256.digest('hex'), sample: Buffer.concat(begin) }),
  };
}
