import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { type Lists, listRequestOf } from '#src/platform/list-query/index.js';
import type { Idempotency } from '../../installation/index.js';
import type { BucketStore, Buckets } from '../buckets/index.js';
import type { Where } from './access.js';
import { filesApi } from './api.js';
import { createFileCheck } from './check.js';
import { createContentReader } from './content/reader.js';
import { createContentWriter } from './content/writer.js';
import { createFileJobs } from './jobs/index.js';
import { imageRequestOf } from './previews/api.js';
import { createPreviews } from './previews/index.js';
import { createFileReaders } from './readers/index.js';
import { createReads } from './reads.js';
import type { FileInBucket, Files } from './service.js';
import { createFileStore } from './store.js';
import { createFileTokensPart } from './tokens/index.js';
import { createUploads } from './uploads/index.js';
import type { IsGone } from './uploads/rows.js';
import { toFile } from './view.js';
import { createWrites } from './writes.js';

export { fileShape } from './view.js';

type FileCall = Pick<Call<(typeof filesApi)['get']>, 'project' | 'actor' | 'request'> & {
  readonly params: { readonly bucketId: string };
};

/** Files of buckets. */
export function createFilesFeature(
  runtime: Pick<
    Runtime,
    'config' | 'db' | 'sql' | 'files' | 'images' | 'sealing' | 'clock' | 'random' | 'log' | 'metrics'
  >,
  {
    buckets,
    bucketStore,
    lists,
    idempotency,
    isGone,
  }: {
    readonly buckets: Buckets;
    readonly bucketStore: BucketStore;
    readonly lists: Lists;
    readonly idempotency: Idempotency;
    readonly isGone: IsGone;
  },
) {
  const statements = createFileStore(runtime.sql);
  const reader = createContentReader(runtime, statements);
  const writer = createContentWriter(runtime, statements);
  const previews = createPreviews(runtime, { reader, statements });
  const part = createFileTokensPart(runtime, lists, (source, where, id) => reads.shareable(source, where, id));
  const reads = createReads(runtime, { buckets, lists, statements, reader, tokens: part.tokens });
  const { bucketOf, bucketIn } = reads;
  const files: Files = {
    ...reads,
    ...createUploads(runtime, { buckets, statements, writer, reader, bucketOf, bucketIn, idempotency, isGone }),
    ...createWrites(runtime, { buckets, statements, bucketIn, idempotency }),
  };
  const { jobs, emptyProject, removeBytes } = createFileJobs(runtime, { buckets, bucketStore, statements, previews });
  const where = ({ project, actor, params, request }: FileCall): Where => ({
    project,
    actor,
    bucketId: params.bucketId,
    reading: request.reading,
    room: request.answer,
  });
  const print = ({ bucket, file }: FileInBucket) => toFile(bucket, file);
  const operations = implement(filesApi, {
    create: async (call) => {
      const { upload } = call.request;
      if (upload === undefined) throw new Failure('storage_file_empty');
      return files.upload(where(call), auditContextOf(call), upload, call.request.once);
    },
    list: async (call) => {
      const { bucket, total, files: found } = await files.list(where(call), listRequestOf(call));
      return { total, files: found.map((file) => toFile(bucket, file)) };
    },
    get: async (call) => print(await files.get(where(call), call.params.fileId)),
    update: (call) => files.update(where(call), auditContextOf(call), call.params.fileId, call.body),
    delete: (call) => files.remove(where(call), auditContextOf(call), call.params.fileId),
    download: (call) => files.content(where(call), call.params.fileId, { token: call.query.token, shown: false }),
    preview: async (call) => {
      const { token, ...parameters } = call.query;
      const opened = await files.opened(where(call), call.params.fileId, token);
      return previews.of(where(call), opened, imageRequestOf(parameters));
    },
    view: (call) => files.content(where(call), call.params.fileId, { token: call.query.token, shown: true }),
  });
  return {
    files,
    emptyProject,
    removeBytes,
    check: createFileCheck(runtime, statements),
    readers: createFileReaders(runtime, buckets, statements),
    operations: [...operations, ...part.operations],
    jobs,
  };
}
