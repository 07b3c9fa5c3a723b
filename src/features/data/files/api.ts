import { z } from 'zod';
import { anyone, declare, empty, file, json, rawJson } from '#src/contract/declaration.js';
import { fileLimits } from '#src/contract/limits.js';
import { customId, required, visibleText } from '#src/contract/shapes.js';
import { listParameters, searchParameter } from '#src/platform/list-query/api.js';
import { fileShape } from './model/view.js';
import { previewParameters } from './previews/api.js';
import { filePermissions, uploadFields } from './uploads/fields.js';

const common = { tag: 'storage', limits: { calls: 'data' } } as const;
const files = '/storage/buckets/:bucketId/files';
const read = { ...common, method: 'GET', access: anyone('files.read') } as const;
const write = { ...common, idempotent: true, access: anyone('files.write') } as const;
const ofBucket = z.object({ bucketId: customId });
const ofFile = ofBucket.extend({ fileId: customId });
const absent = ['storage_bucket_not_found', 'storage_file_not_found'] as const;
const token = z.string().max(256).optional().meta({ description: 'A file token, instead of the permission to read' });
const content = {
  ...read,
  input: { params: ofFile, query: z.object({ token }) },
  reply: { status: 200, shape: file, errors: [...absent, 'storage_invalid_range', 'token_expired'] },
} as const;

/** Files of buckets. */
export const filesApi = declare({
  create: {
    ...write,
    id: 'files.create',
    method: 'POST',
    path: files,
    summary: 'Uploads a file, or with Content-Range a chunk of 5 MiB of one.',
    input: { params: ofBucket, body: uploadFields, upload: true },
    reply: {
      status: 201,
      shape: rawJson(fileShape),
      errors: [
        ...absent,
        'general_request_timeout',
        'storage_file_already_exists',
        'storage_file_empty',
        'storage_file_type_unsupported',
        'storage_invalid_appwrite_id',
        'storage_invalid_content_range',
        'storage_invalid_file_size',
        'storage_quota_exceeded',
        'user_unauthorized',
      ],
    },
  },
  list: {
    ...read,
    id: 'files.list',
    path: files,
    summary: 'Lists the complete files of a bucket that the caller may read.',
    input: { params: ofBucket, query: z.object({ ...listParameters, ...searchParameter }) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), files: z.array(fileShape) }).meta({ id: 'FileList' })),
      bound: 'budget',
      errors: ['storage_bucket_not_found', 'general_cursor_not_found', 'user_unauthorized'],
    },
  },
  get: {
    ...read,
    id: 'files.get',
    path: `${files}/:fileId`,
    summary: 'Reads what is known of a file.',
    input: { params: ofFile },
    reply: { status: 200, shape: json(fileShape), errors: absent },
  },
  update: {
    ...write,
    id: 'files.update',
    method: 'PUT',
    path: `${files}/:fileId`,
    summary: 'Changes name or permissions of a file; what is not given stays.',
    input: {
      params: ofFile,
      body: z.object({
        name: required(visibleText(fileLimits.name))
          .nullish()
          .transform((value) => value ?? undefined),
        permissions: filePermissions,
      }),
    },
    reply: {
      status: 200,
      shape: rawJson(fileShape),
      errors: [...absent, 'storage_file_type_unsupported', 'user_unauthorized'],
    },
  },
  delete: {
    ...write,
    id: 'files.delete',
    method: 'DELETE',
    path: `${files}/:fileId`,
    summary: 'Deletes a file.',
    input: { params: ofFile },
    reply: { status: 204, shape: empty, errors: [...absent, 'user_unauthorized'] },
  },
  download: {
    ...content,
    id: 'files.download',
    path: `${files}/:fileId/download`,
    summary: 'The bytes of a file, for a browser to save.',
  },
  preview: {
    ...content,
    id: 'files.preview',
    path: `${files}/:fileId/preview`,
    summary: 'An image in another size or format.',
    input: { ...content.input, query: z.object({ token, ...previewParameters }) },
    reply: {
      ...content.reply,
      errors: [
        ...content.reply.errors,
        'storage_bucket_transformations_disabled',
        'storage_file_type_unsupported',
        'storage_image_resolution_exceeded',
      ],
    },
  },
  view: {
    ...content,
    id: 'files.view',
    path: `${files}/:fileId/view`,
    summary: 'The bytes of a file; a browser shows images only.',
  },
});
