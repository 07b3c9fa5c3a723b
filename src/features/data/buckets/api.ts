import { z } from 'zod';
import { declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { fileLimits } from '#src/contract/limits.js';
import { permissionList } from '#src/contract/permissions.js';
import { customId, displayName, newId, required } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/api.js';
import { bucketShape } from './view.js';

const common = { tag: 'storage', limits: { calls: 'data' } } as const;
const read = { ...common, method: 'GET', access: serverKeys('buckets.read') } as const;
const write = { ...common, access: serverKeys('buckets.write') } as const;
const name = required(displayName);
const ofBucket = z.object({ bucketId: customId });
const optional = <S extends z.ZodType>(schema: S) => schema.nullish().transform((value) => value ?? undefined);

/** Settings of a bucket. An omitted one keeps its value, or gets the default in a new bucket. */
const settings = {
  permissions: optional(permissionList),
  fileSecurity: optional(z.boolean()),
  enabled: optional(z.boolean()),
  maximumFileSize: optional(z.int().min(1).max(fileLimits.maxBytes)),
  allowedFileExtensions: optional(
    z
      .array(
        z
          .string()
          .max(fileLimits.extension)
          .regex(/^[A-Za-z0-9_+-]+$/, 'must be a file extension such as png'),
      )
      .max(fileLimits.extensions),
  ),
  compression: optional(z.enum(['none', 'gzip'])),
  encryption: optional(z.boolean()),
  transformations: optional(z.boolean()),
};

/** Buckets, for server keys. */
export const bucketsApi = declare({
  create: {
    ...write,
    id: 'buckets.create',
    method: 'POST',
    path: '/storage/buckets',
    summary: 'Creates a bucket.',
    input: { body: z.object({ bucketId: newId, name, ...settings }) },
    reply: {
      status: 201,
      shape: json(bucketShape),
      errors: ['storage_bucket_already_exists', 'storage_bucket_limit_exceeded'],
    },
  },
  list: {
    ...read,
    id: 'buckets.list',
    path: '/storage/buckets',
    summary: 'Lists the buckets of the project.',
    input: { query: z.object({ ...listParameters, ...searchParameter }) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), buckets: z.array(bucketShape) }).meta({ id: 'BucketList' })),
      bound: 'budget',
      errors: ['general_cursor_not_found'],
    },
  },
  get: {
    ...read,
    id: 'buckets.get',
    path: '/storage/buckets/:bucketId',
    summary: 'Reads a bucket.',
    input: { params: ofBucket },
    reply: { status: 200, shape: json(bucketShape), errors: ['storage_bucket_not_found'] },
  },
  update: {
    ...write,
    id: 'buckets.update',
    method: 'PUT',
    path: '/storage/buckets/:bucketId',
    summary: 'Changes a bucket; a disabled one exists for server keys only.',
    input: { params: ofBucket, body: z.object({ name: name.optional(), ...settings }) },
    reply: { status: 200, shape: json(bucketShape), errors: ['storage_bucket_not_found'] },
  },
  delete: {
    ...write,
    id: 'buckets.delete',
    method: 'DELETE',
    path: '/storage/buckets/:bucketId',
    summary: 'Deletes a bucket with its files.',
    input: { params: ofBucket },
    reply: { status: 204, shape: empty, errors: ['storage_bucket_not_found'] },
  },
});
