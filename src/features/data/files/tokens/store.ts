import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { instant, nullable, table, text } from '#src/platform/db/table.js';
import { raw } from '#src/platform/db/template.js';

/** File tokens. Their secrets are derived from the id and a key, not stored. */
export const fileTokens = table('file_tokens', {
  projectId: text,
  id: text,
  bucketKey: text,
  bucketId: text,
  fileId: text,
  expire: nullable(instant),
  createdAt: instant,
  accessedAt: nullable(instant),
  /** The user who created it; null for server keys and for tokens from before migration 0046. */
  userId: nullable(text),
});

/** A token as stored. */
export type FileTokenRow = ReturnType<typeof fileTokens.decode>;

/** SQL over file tokens. */
export function createTokenStore(sql: Sql) {
  const isOfFile = (bucketKey: string, fileId: string) => sql`bucket_key = ${bucketKey} and file_id = ${fileId}`;
  return {
    find: ({ projectId, id }: { readonly projectId: string; readonly id: string }) =>
      sql`select ${fileTokens.row} from file_tokens where project_id = ${projectId} and id = ${id}`,
    rows: (bucketKey: string, fileId: string) => ({ from: raw('file_tokens'), where: isOfFile(bucketKey, fileId) }),
    count: (bucketKey: string, fileId: string) =>
      sql`select count(*) as count from file_tokens where ${isOfFile(bucketKey, fileId)}`,
    insert: (row: FileTokenRow) => sql`${fileTokens.insert(row)}`,
    expireAt: (projectId: string, id: string, expire: Instant | null) =>
      sql`update file_tokens set expire = ${expire} where project_id = ${projectId} and id = ${id}`,
    /** Updates `accessedAt`, unless it was updated since `before`. */
    touch: (projectId: string, id: string, now: Instant, before: Instant) => sql`
      update file_tokens set accessed_at = ${now}
      where project_id = ${projectId} and id = ${id} and (accessed_at is null or accessed_at < ${before})`,
    remove: (projectId: string, id: string) =>
      sql`delete from file_tokens where project_id = ${projectId} and id = ${id}`,
  };
}

/** SQL over file tokens. */
export type TokenStore = ReturnType<typeof createTokenStore>;
