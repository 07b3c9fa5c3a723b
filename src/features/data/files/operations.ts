import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement, type Operation } from '#src/contract/operation.js';
import { listRequestOf } from '#src/platform/list-query/index.js';
import { filesApi } from './api.js';
import type { BucketContext } from './model/access.js';
import type { FileInBucket, Files } from './model/service.js';
import { toFile } from './model/view.js';
import { imageRequestOf } from './previews/api.js';
import type { Previews } from './previews/index.js';

/** Binds the operations on files. */
export function fileOperations(files: Files, previews: Previews): Operation[] {
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
    get: async (call) => printed(await files.get(where(call), call.params.fileId)),
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
  return operations.map((operation) => {
    const { method } = operation.declaration;
    if (method !== 'PUT' && method !== 'DELETE') return operation;
    const action = method === 'PUT' ? 'update' : 'delete';
    const repeat: NonNullable<Operation['repeat']> = (call, kept) => {
      const { params } = call as unknown as Call<(typeof filesApi)['update']>;
      return files.repeated(where({ ...call, params }), params.fileId, action, kept);
    };
    return { ...operation, repeat };
  });
}

type FileCall = Pick<Call<(typeof filesApi)['get']>, 'project' | 'actor' | 'request'> & {
  readonly params: { readonly bucketId: string };
};

function where({ project, actor, params, request }: FileCall): BucketContext {
  return { project, actor, bucketId: params.bucketId, reading: request.reading };
}

function printed({ bucket, file }: FileInBucket) {
  return toFile(bucket, file);
}
