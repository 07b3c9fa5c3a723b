import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, bool, instant, integer, jsonText, nullable, table, text, word } from '#src/platform/db/table.js';

/** Buckets: containers of files. */
export const buckets = table('buckets', {
  key: text,
  projectId: text,
  id: text,
  name: text,
  enabled: bool,
  fileSecurity: bool,
  permissions: jsonText<readonly string[]>(),
  maximumFileSize: bigint,
  allowedFileExtensions: jsonText<readonly string[]>(),
  compression: word<'none' | 'gzip'>(),
  encryption: bool,
  transformations: bool,
  totalSize: bigint,
  files: integer,
  createdAt: instant,
  updatedAt: instant,
  deletedAt: nullable(instant),
});

/** A bucket as stored. */
export type Bucket = ReturnType<typeof buckets.decode>;

/** Bytes of all files of a project. */
export const fileUsage = table('file_usage', { projectId: text, bytes: bigint });

/** SQL over buckets and the bytes in them. */
export function createBucketStore(sql: Sql) {
  const { knex } = sql;
  const ofProject = (projectId: string) => knex(buckets.name).where({ project_id: projectId }).whereNull('deleted_at');
  return {
    find: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(buckets.name).where({ project_id: p.projectId, id: p.id }).whereNull('deleted_at').select(buckets.select(sql)),
    ),
    rows: ofProject,
    columns: () => buckets.select(sql),
    count: (projectId: string): Query => sql.compile(ofProject(projectId).count({ count: '*' })),
    insert: (row: Bucket): Query =>
      sql.compile(knex(buckets.name).insert(buckets.encode(row)).onConflict().ignore().returning('key')),
    /** Returns no row if the bucket is gone. */
    update: (key: string, change: Partial<Bucket>): Query =>
      sql.compile(
        knex(buckets.name)
          .where({ key })
          .whereNull('deleted_at')
          .update(buckets.encodeSome(change))
          .returning(['total_size', 'files']),
      ),
    /** Adds to the counts of files and bytes. Changes no row if the bucket is gone. */
    add: (key: string, files: number, bytes: number): Query =>
      sql.text(
        'update buckets set files = files + ?, total_size = total_size + ? where key = ? and deleted_at is null',
        [files, bytes, key],
      ),
    /** Deleted buckets whose files have not been removed yet. */
    deleted: (limit: number): Query =>
      sql.compile(knex(buckets.name).whereNotNull('deleted_at').limit(limit).select('key', 'project_id')),
    ofProject: (projectId: string): Query =>
      sql.compile(knex(buckets.name).where({ project_id: projectId }).select('key')),
    remove: (key: string): Query => sql.compile(knex(buckets.name).where({ key }).delete()),
    /** Locks the usage of a project until the end of the unit, so that concurrent units count one after the other. */
    holdUsage: (projectId: string): Query =>
      sql.text(
        `insert into file_usage (project_id, bytes) values (?, 0)
          on conflict (project_id) do update set bytes = file_usage.bytes returning bytes`,
        [projectId],
      ),
    usage: (projectId: string): Query =>
      sql.compile(knex(fileUsage.name).where({ project_id: projectId }).select(fileUsage.select(sql))),
    addUsage: (projectId: string, bytes: number): Query =>
      sql.text('update file_usage set bytes = bytes + ? where project_id = ?', [bytes, projectId]),
  };
}

/** SQL over buckets. */
export type BucketStore = ReturnType<typeof createBucketStore>;

/** A new bucket with default settings. */
export function newBucket(
  row: Pick<Bucket, 'key' | 'projectId' | 'id' | 'name'>,
  maximumFileSize: number,
  now: Instant,
): Bucket {
  return {
    ...row,
    enabled: true,
    fileSecurity: false,
    permissions: [],
    maximumFileSize,
    allowedFileExtensions: [],
    compression: 'none',
    encryption: true,
    transformations: true,
    totalSize: 0,
    files: 0,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}
