import { z } from 'zod';
import { declare, empty, json, usersAndKeys } from '#src/contract/declaration.js';
import { givenTime } from '#src/contract/instant.js';
import { customId } from '#src/contract/shapes.js';
import { listParameters } from '#src/platform/list-query/api.js';
import { fileTokenShape } from './view.js';

const common = { tag: 'tokens', limits: { calls: 'data' } } as const;
const read = { ...common, method: 'GET', access: usersAndKeys('tokens.read') } as const;
const write = { ...common, access: usersAndKeys('tokens.write') } as const;
const ofFile = z.object({ bucketId: customId, fileId: customId });
const ofToken = z.object({ tokenId: customId });
const files = '/tokens/buckets/:bucketId/files/:fileId';
const absent = ['storage_bucket_not_found', 'storage_file_not_found', 'user_unauthorized'] as const;
const body = z.object({
  expire: givenTime
    .nullish()
    .transform((value) => value ?? null)
    .meta({ description: 'When the token ends; never, where absent' }),
});

/** Tokens that allow reading single files, for callers who may change the file. */
export const fileTokensApi = declare({
  create: {
    ...write,
    id: 'tokens.createFileToken',
    method: 'POST',
    path: files,
    summary: 'Makes a token by which anybody may read the bytes of the file.',
    input: { params: ofFile, body },
    reply: { status: 201, shape: json(fileTokenShape), errors: [...absent, 'token_limit_exceeded'] },
  },
  list: {
    ...read,
    id: 'tokens.list',
    path: files,
    summary: 'Lists the tokens of a file.',
    input: { params: ofFile, query: z.object(listParameters) },
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), tokens: z.array(fileTokenShape) }).meta({ id: 'ResourceTokenList' })),
      bound: 'budget',
      errors: [...absent, 'general_cursor_not_found'],
    },
  },
  get: {
    ...read,
    id: 'tokens.get',
    path: '/tokens/:tokenId',
    summary: 'Reads a file token.',
    input: { params: ofToken },
    reply: { status: 200, shape: json(fileTokenShape), errors: ['token_not_found'] },
  },
  update: {
    ...write,
    id: 'tokens.update',
    method: 'PATCH',
    path: '/tokens/:tokenId',
    summary: 'Changes when a file token ends.',
    input: { params: ofToken, body },
    reply: { status: 200, shape: json(fileTokenShape), errors: ['token_not_found'] },
  },
  delete: {
    ...write,
    id: 'tokens.delete',
    method: 'DELETE',
    path: '/tokens/:tokenId',
    summary: 'Deletes a file token.',
    input: { params: ofToken },
    reply: { status: 204, shape: empty, errors: ['token_not_found'] },
  },
});
