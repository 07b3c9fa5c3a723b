import type { Runtime } from '#src/platform/index.js';
import type { Lists } from '#src/platform/list-query/index.js';
import type { Idempotency } from '../../installation/index.js';
import type { BucketStore, Buckets } from '../buckets/index.js';
import { createFileCheck } from './check.js';
import { createContentReader } from './content/reader.js';
import { createContentWriter } from './content/writer.js';
import { createFileJobs } from './jobs.js';
import type { Files } from './model/service.js';
import { createFileStore } from './model/store.js';
import { fileOperations } from './operations.js';
import { createPreviews } from './previews/index.js';
import { createFileReaders } from './readers.js';
import { createFileReads } from './reads.js';
import { createFileTokensPart } from './tokens/index.js';
import type { FindUser } from './tokens/service.js';
import { createFileTransfer } from './transfer.js';
import { createFileUploads } from './uploads/index.js';
import type { IsGone } from './uploads/rows.js';
import { createFileWrites } from './writes.js';

export { fileShape } from './model/view.js';
export type { FindUser } from './tokens/service.js';

interface Deps {
  readonly buckets: Buckets;
  readonly bucketStore: BucketStore;
  readonly lists: Lists;
  readonly idempotency: Idempotency;
  readonly isGone: IsGone;
  readonly findUser: FindUser;
}

/** Builds the feature: files in buckets, their tokens, previews and jobs. */
export function createFilesFeature(
  runtime: Pick<
    Runtime,
    'config' | 'db' | 'sql' | 'files' | 'images' | 'sealing' | 'clock' | 'random' | 'log' | 'metrics'
  >,
  { buckets, bucketStore, lists, idempotency, isGone, findUser }: Deps,
) {
  const statements = createFileStore(runtime.sql);
  const reader = createContentReader(runtime, statements);
  const writer = createContentWriter(runtime, statements);
  const previews = createPreviews(runtime, { reader, statements });
  const part = createFileTokensPart(runtime, lists, {
    shareable: (source, where, id) => reads.shareable(source, where, id),
    findUser,
  });
  const reads = createFileReads(runtime, { buckets, lists, statements, reader, tokens: part.tokens });
  const { bucketIn } = reads;
  const files: Files = {
    ...reads,
    ...createFileUploads(runtime, { buckets, statements, writer, reader, bucketIn, idempotency, isGone }),
    ...createFileWrites(runtime, { buckets, statements, bucketIn, idempotency }),
  };
  const { jobs, emptyProject, removeBytes } = createFileJobs(runtime, { buckets, bucketStore, statements, previews });
  return {
    files,
    emptyProject,
    removeBytes,
    check: createFileCheck(runtime, statements),
    transfer: createFileTransfer(runtime, { files, statements, reader, bucketIn }),
    readers: createFileReaders(runtime, buckets, statements),
    operations: [...fileOperations(files, previews), ...part.operations],
    jobs,
  };
}
