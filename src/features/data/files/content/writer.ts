import { createHash } from 'node:crypto';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { mediaTypeOf, sampleBytes } from '#src/platform/media-type.js';
import { createNotice } from '#src/platform/notice.js';
import type { Bucket } from '../../buckets/index.js';
import type { FileStatements } from '../store.js';
import { encode } from './encoding.js';

/** A part whose bytes are in the file store, and in no file yet. */
export interface WrittenPart {
  readonly key: string;
  readonly size: number;
  readonly storedSize: number;
  /** MD5 and SHA-256, as hex. */
  readonly md5: string;
  readonly sha256: string;
  readonly mimeType: string;
  /** How it was written: compressed, encrypted. */
  readonly gzip: boolean;
  readonly encryption: boolean;
}

/** What is written. */
interface PartInput {
  readonly number: number;
  readonly gzip: boolean;
  readonly encryption: boolean;
  readonly maxBytes: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Writes parts of files. */
export interface ContentWriter {
  /** Throws Failure `storage_invalid_file_size` and `storage_file_empty`, and leaves nothing behind then. */
  write(by: AuditContext, project: Project, bucket: Bucket, part: PartInput): Promise<WrittenPart>;
  /** Gives up what was written. What cannot be removed now, a job removes later. */
  discard(by: AuditContext, keys: readonly string[]): Promise<void>;
}

/** Writes objects. Each has its row first, so that one that is written and then needed by nobody is found without a look at the whole store. */
export function createContentWriter(
  { db, files, sealing, random, clock, log }: Pick<Runtime, 'db' | 'files' | 'sealing' | 'random' | 'clock' | 'log'>,
  statements: FileStatements,
): ContentWriter {
  const keyOf = (project: Project, bucket: Bucket, number: number): string => {
    const id = random.id();
    // Directories of a disk store stay small.
    return `${project.id}/${bucket.key}/${id.slice(-2)}/${id}.${number}`;
  };
  // A store that is away or full is told once, however many uploads it fails.
  const notices = { write: createNotice(), discard: createNotice() };
  const discard: ContentWriter['discard'] = async (by, keys) => {
    try {
      for (const key of keys) {
        const isLeft = await db.work(by, async (unit) => (await unit.run(statements.claim([key], unit.now))) > 0);
        // A part that a file has meanwhile stays, whatever went wrong afterwards.
        if (!isLeft) continue;
        await files.remove(key);
        await db.work(by, (unit) => unit.run(statements.forget([key])));
        notices.discard.over();
      }
    } catch (error) {
      const name = error instanceof Error ? error.name : typeof error;
      if (notices.discard.isNews(name)) log.warn('files.discard-failed', { error: name });
    }
  };
  return {
    discard,
    write: async (by, project, bucket, { number, gzip, encryption, maxBytes, bytes }) => {
      const key = keyOf(project, bucket, number);
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
        await discard(by, [key]);
        if (!(error instanceof FileStoreError)) throw error;
        const { code } = error;
        const milliseconds = Math.round(clock.monotonic() - started);
        if (notices.write.isNews(code)) log.error('files.write-failed', { code, milliseconds });
        throw new Failure('general_unavailable', { cause: error });
      }
    },
  };
}

/** Looks at bytes as they pass: how many, what they are, and their digests. */
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
