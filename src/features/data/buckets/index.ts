import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { commonFields, type ListField, type Lists, listRequestOf } from '#src/platform/list-query/index.js';
import { bucketsApi } from './api.js';
import { createBuckets } from './service.js';
import { buckets as bucketTable, createBucketStore } from './store.js';
import { toBucket } from './view.js';

export { bucketsApi } from './api.js';
export type { Buckets } from './service.js';
export type { Bucket, BucketStore } from './store.js';

const fields = {
  ...commonFields,
  $permissions: { column: 'permissions', type: 'texts' },
  name: { column: 'name', type: 'text' },
  enabled: { column: 'enabled', type: 'boolean' },
  fileSecurity: { column: 'file_security', type: 'boolean' },
  maximumFileSize: { column: 'maximum_file_size', type: 'integer' },
  encryption: { column: 'encryption', type: 'boolean' },
  compression: { column: 'compression', type: 'text' },
  transformations: { column: 'transformations', type: 'boolean' },
} as const satisfies Readonly<Record<string, ListField>>;

/** Buckets. */
export function createBucketsFeature(runtime: Pick<Runtime, 'config' | 'db' | 'sql' | 'random'>, lists: Lists) {
  const { db, sql } = runtime;
  const store = createBucketStore(sql);
  const buckets = createBuckets(runtime, store);
  return {
    buckets,
    store,
    operations: implement(bucketsApi, {
      create: async (call) => {
        const { bucketId, ...input } = call.body;
        return toBucket(
          await db.work(auditContextOf(call), (unit) => buckets.create(unit, call.project.id, bucketId, input)),
        );
      },
      list: async ({ project, query, request }) => {
        const listing = { rows: store.rows(project.id), select: bucketTable.row, fields, search: ['name', 'id'] };
        const { total, rows } = await lists.read(db, listing, listRequestOf({ query, request }));
        return { total, buckets: rows.map((row) => toBucket(bucketTable.decode(row))) };
      },
      get: async ({ project, params }) => toBucket(await buckets.get(db, project.id, params.bucketId)),
      update: async (call) =>
        toBucket(
          await db.work(auditContextOf(call), (unit) =>
            buckets.update(unit, call.project.id, call.params.bucketId, call.body),
          ),
        ),
      delete: (call) =>
        db.work(auditContextOf(call), (unit) => buckets.remove(unit, call.project.id, call.params.bucketId)),
    }),
  };
}
