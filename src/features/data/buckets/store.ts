import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { bigint, bool, instant, integer, jsonText, nullable, table, text, word } from '#src/platform/db/table.js';
import { raw } from '#src/platform/db/template.js';

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
  return {
    find: ({ projectId, id }: { readonly projectId: string; readonly id: string }) => sql`
      select ${buckets.row} from buckets where project_id = ${projectId} and id = ${id} and deleted_at is null`,
    rows: (projectId: string) => ({
      from: raw('buckets'),
      where: sql`project_id = ${projectId} and deleted_at is null`,
    }),
    count: (projectId: string) =>
      sql`select count(*) as count from buckets where project_id = ${projectId} and deleted_at is null`,
    insert: (row: Bucket) => sql`${buckets.insert(row)} on conflict do nothing returning key`,
    /** Returns no row if the bucket is gone. */
    update: (key: string, change: Partial<Bucket>) => sql`
      update buckets set ${buckets.set(change)} where key = ${key} and deleted_at is null returning total_size, files`,
    /** Adds to the counts of files and bytes. Changes no row if the bucket is gone. */
    add: (key: string, files: number, bytes: number) => sql`
      update buckets set files = files + ${files}, total_size = total_size + ${bytes}
      where key = ${key} and deleted_at is null`,
    /** Deleted buckets whose files have not been removed yet. */
    deleted: (limit: number) => sql`select key, project_id from buckets where deleted_at is not null limit ${limit}`,
    ofProject: (projectId: string) => sql`select key from buckets where project_id = ${projectId}`,
    remove: (key: string) => sql`delete from buckets where key = ${key}`,
    /** Locks the usage of a project until the end of the unit, so that concurrent units count one after the other. */
    holdUsage: (projectId: string) => sql`
      insert into file_usage (project_id, bytes) values (${projectId}, 0)
      on conflict (project_id) do update set bytes = file_usage.bytes returning bytes`,
    usage: (projectId: string) => sql`select ${fileUsage.row} from file_usage where project_id = ${projectId}`,
    addUsage: (projectId: string, bytes: number) =>
      sql`update file_usage set bytes = bytes + ${bytes} where project_id = ${projectId}`,
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
