import { z } from 'zod';
import { givenTime } from '#src/contract/instant.js';
import { declare, empty, json } from '#src/contract/operation.js';
import { customId } from '#src/contract/shapes.js';
import { listParameters } from '#src/platform/list-query/api.js';
import { fileTokenShape } from './view.js';

const common = { tag: 'tokens', auth: ['user', 'key'], limit: 'data' } as const;
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
    ...common,
    id: 'tokens.createFileToken',
    method: 'POST',
    path: files,
    summary: 'Makes a token by which anybody may read the bytes of the file.',
    scopes: ['tokens.write'],
    params: ofFile,
    body,
    status: 201,
    reply: json(fileTokenShape),
    errors: [...absent, 'token_limit_exceeded'],
  },
  list: {
    ...common,
    id: 'tokens.list',
    method: 'GET',
    path: files,
    summary: 'Lists the tokens of a file.',
    scopes: ['tokens.read'],
    params: ofFile,
    query: z.object(listParameters),
    status: 200,
    reply: json(z.object({ total: z.int(), tokens: z.array(fileTokenShape) }).meta({ id: 'ResourceTokenList' })),
    bound: 'room',
    errors: [...absent, 'general_cursor_not_found'],
  },
  get: {
    ...common,
    id: 'tokens.get',
    method: 'GET',
    path: '/tokens/:tokenId',
    summary: 'Reads a file token.',
    scopes: ['tokens.read'],
    params: ofToken,
    status: 200,
    reply: json(fileTokenShape),
    errors: ['token_not_found'],
  },
  update: {
    ...common,
    id: 'tokens.update',
    method: 'PATCH',
    path: '/tokens/:tokenId',
    summary: 'Changes when a file token ends.',
    scopes: ['tokens.write'],
    params: ofToken,
    body,
    status: 200,
    reply: json(fileTokenShape),
    errors: ['token_not_found'],
  },
  delete: {
    ...common,
    id: 'tokens.delete',
    method: 'DELETE',
    path: '/tokens/:tokenId',
    summary: 'Deletes a file token.',
    scopes: ['tokens.write'],
    params: ofToken,
    status: 204,
    reply: empty,
    errors: ['token_not_found'],
  },
});
