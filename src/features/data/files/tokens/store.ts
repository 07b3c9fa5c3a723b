import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, nullable, table, text } from '#src/platform/db/table.js';

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
  const { knex } = sql;
  const one = (projectId: string, id: string) => knex(fileTokens.name).where({ project_id: projectId, id });
  return {
    find: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(fileTokens.name).where({ project_id: p.projectId, id: p.id }).select(fileTokens.select(sql)),
    ),
    rows: (bucketKey: string, fileId: string) =>
      knex(fileTokens.name).where({ bucket_key: bucketKey, file_id: fileId }),
    columns: () => fileTokens.select(sql),
    count: (bucketKey: string, fileId: string): Query =>
      sql.compile(knex(fileTokens.name).where({ bucket_key: bucketKey, file_id: fileId }).count({ count: '*' })),
    insert: (row: FileTokenRow): Query => sql.compile(knex(fileTokens.name).insert(fileTokens.encode(row))),
    expireAt: (projectId: string, id: string, expire: Instant | null): Query =>
      sql.compile(one(projectId, id).update({ expire })),
    /** Updates `accessedAt`, unless it was updated since `before`. */
    touch: (projectId: string, id: string, now: Instant, before: Instant): Query =>
      sql.compile(
        one(projectId, id)
          .where((either) => either.whereNull('accessed_at').orWhere('accessed_at', '<', before))
          .update({ accessed_at: now }),
      ),
    remove: (projectId: string, id: string): Query => sql.compile(one(projectId, id).delete()),
  };
}

/** SQL over file tokens. */
export type TokenStore = ReturnType<typeof createTokenStore>;
