import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import type { Runtime } from '#src/platform/index.js';
import { type ListField, type Lists, listRequestOf } from '#src/platform/list-query/index.js';
import type { BucketContext } from '../model/access.js';
import { fileTokensApi } from './api.js';
import { createFileTokens, type FindUser, type Shareable } from './service.js';
import { createTokenStore, type FileTokenRow, fileTokens } from './store.js';
import { toFileToken } from './view.js';

const fields = {
  $id: { column: 'id', type: 'text' },
  $createdAt: { column: 'created_at', type: 'instant' },
  expire: { column: 'expire', type: 'instant', nullable: true },
} as const satisfies Readonly<Record<string, ListField>>;

/** File tokens. `shareable` finds files that the caller may change and read. */
export function createFileTokensPart(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>,
  lists: Lists,
  { shareable, findUser }: { readonly shareable: Shareable; readonly findUser: FindUser },
) {
  const { db, sql } = runtime;
  const store = createTokenStore(sql);
  const tokens = createFileTokens(runtime, store, { shareable, findUser });
  const print = (token: FileTokenRow) => toFileToken(token, tokens.secretOf(token));
  const where = ({
    project,
    actor,
    request,
  }: Pick<Call<(typeof fileTokensApi)['get']>, 'project' | 'actor' | 'request'>): Omit<BucketContext, 'bucketId'> => ({
    project,
    actor,
    reading: request.reading,
  });
  return {
    tokens,
    operations: implement(fileTokensApi, {
      create: async (call) => {
        const at = { ...where(call), bucketId: call.params.bucketId };
        return print(await tokens.create(at, auditContextOf(call), call.params.fileId, call.body.expire));
      },
      list: async (call) => {
        const { bucketId, fileId } = call.params;
        const request = listRequestOf(call);
        return readAnswer(db, request, async (snapshot) => {
          const { bucket, file } = await shareable(snapshot, { ...where(call), bucketId }, fileId);
          const listing = { rows: store.rows(bucket.key, file.id), select: fileTokens.row, fields };
          const { total, rows } = await lists.page(snapshot, listing, request);
          return { total, tokens: rows.map((row) => print(fileTokens.decode(row))) };
        });
      },
      get: async (call) => print(await tokens.get(where(call), call.params.tokenId)),
      update: async (call) =>
        print(await tokens.update(where(call), auditContextOf(call), call.params.tokenId, call.body.expire)),
      delete: (call) => tokens.remove(where(call), auditContextOf(call), call.params.tokenId),
    }),
  };
}
