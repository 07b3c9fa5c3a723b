import { grantsOf } from '#src/contract/permissions.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { bigint, bool, instant, integer, jsonText, nullable, table, text, word } from '#src/platform/db/table.js';
import { forUpdate, oneOf, raw } from '#src/platform/db/template.js';

/** Files of buckets. */
export const files = table('files', {
  bucketKey: text,
  id: text,
  projectId: text,
  name: text,
  permissions: jsonText<readonly string[]>(),
  creator: text,
  mimeType: text,
  signature: text,
  digest: text,
  sizeOriginal: bigint,
  sizeActual: bigint,
  chunksTotal: integer,
  chunksUploaded: integer,
  compression: word<'none' | 'gzip'>(),
  encryption: bool,
  createdAt: instant,
  updatedAt: instant,
  completedAt: nullable(instant),
});

/** A file as stored. */
export type FileRow = ReturnType<typeof files.decode>;

/** Objects of the file store: parts of files, or objects to be removed. */
export const fileObjects = table('file_objects', {
  key: text,
  projectId: text,
  bucketKey: text,
  fileId: nullable(text),
  number: integer,
  size: bigint,
  storedSize: bigint,
  state: word<'writing' | 'stored' | 'removed'>(),
  changedAt: instant,
});

/** An object as stored. */
export type ObjectRow = ReturnType<typeof fileObjects.decode>;

/** Condition for stored objects whose file is gone. */
const isStray = raw(
  `file_objects.state = 'stored' and not exists (select 1 from files where files.bucket_key = file_objects.bucket_key and files.id = file_objects.file_id)`,
);

type FileKey = Readonly<Record<'bucketKey' | 'id', string>>;

/** SQL over files and the objects with their bytes. */
export function createFileStore(sql: Sql) {
  return { ...fileStatements(sql), ...batchStatements(sql), ...partStatements(sql), ...removalStatements(sql) };
}

/** SQL over files. */
export type FileStatements = ReturnType<typeof createFileStore>;

function fileStatements(sql: Sql) {
  return {
    find: ({ bucketKey, id }: FileKey) =>
      sql`select ${files.row} from files where bucket_key = ${bucketKey} and id = ${id}`,
    /** Locks the file until the end of the unit. */
    lock: (bucketKey: string, id: string) =>
      sql`select ${files.row} from files where bucket_key = ${bucketKey} and id = ${id}${forUpdate}`,
    /** The next complete files in the order of their ids. */
    after: (bucketKey: string, id: string, limit: number) => sql`
      select ${files.row} from files where bucket_key = ${bucketKey} and completed_at is not null and id > ${id}
      order by id limit ${limit}`,
    /** The permissions of complete files. */
    permissionsOf: (bucketKey: string, ids: readonly string[]) => sql`
      select id, permissions from files where bucket_key = ${bucketKey} and completed_at is not null and id ${oneOf(ids)}`,
    /** Complete files. With roles, only those whose own permissions let one of the roles read. */
    rows: (bucketKey: string, roles: readonly string[] | undefined) => {
      const granted = raw(sql.words.eachTextInJson('granted', 'files.permissions'));
      const isGranted =
        roles !== undefined &&
        sql`and exists (select 1 from ${granted} where granted.value ${oneOf(grantsOf('read', roles))})`;
      return {
        from: raw('files'),
        where: sql`bucket_key = ${bucketKey} and completed_at is not null ${isGranted}`,
      };
    },
    insert: (row: FileRow) => sql`${files.insert(row)} on conflict do nothing returning id`,
    update: (bucketKey: string, id: string, change: Partial<FileRow>) =>
      sql`update files set ${files.set(change)} where bucket_key = ${bucketKey} and id = ${id}`,
    remove: (bucketKey: string, id: string) => sql`delete from files where bucket_key = ${bucketKey} and id = ${id}`,
  };
}

/** Files that are changed together. */
function batchStatements(sql: Sql) {
  return {
    /** Unfinished uploads of a creator, those idle for longest first. */
    unfinishedOf: (projectId: string, creator: string) =>
      // Filters by bucket: the index of unfinished files is by bucket, and the one by creator contains all files.
      sql`
        select ${files.row} from files where completed_at is null and creator = ${creator}
          and bucket_key in (select key from buckets where project_id = ${projectId} and deleted_at is null)
        order by updated_at, id`,
    /** Unfinished uploads without a chunk since a time. */
    abandoned: (before: Instant, limit: number) =>
      sql`select ${files.row} from files where completed_at is null and updated_at < ${before} limit ${limit}`,
    /** Files created by a user. */
    ofCreator: (projectId: string, creator: string, limit: number) => sql`
      select files.id, files.bucket_key, buckets.id as bucket_id
      from files join buckets on buckets.key = files.bucket_key
      where files.project_id = ${projectId} and files.creator = ${creator} limit ${limit}`,
    /** Files of a bucket, complete or not. */
    some: (bucketKey: string, limit: number) =>
      sql`select id from files where bucket_key = ${bucketKey} limit ${limit}`,
    removeSome: (bucketKey: string, ids: readonly string[]) =>
      sql`delete from files where bucket_key = ${bucketKey} and id ${oneOf(ids)}`,
  };
}

function partStatements(sql: Sql) {
  const isPart = (bucketKey: string, fileId: string) =>
    sql`bucket_key = ${bucketKey} and file_id = ${fileId} and state = 'stored'`;
  return {
    /** The parts of a file in order. */
    parts: ({ bucketKey, fileId }: { readonly bucketKey: string; readonly fileId: string }) =>
      sql`select ${fileObjects.row} from file_objects where ${isPart(bucketKey, fileId)} order by number`,
    part: (bucketKey: string, fileId: string, number: number) =>
      sql`select ${fileObjects.row} from file_objects where ${isPart(bucketKey, fileId)} and number = ${number}`,
    /** The key of the first part of a file. It identifies the upload: a later file with the same id has other keys. */
    mark: (bucketKey: string, fileId: string) =>
      sql`select key from file_objects where ${isPart(bucketKey, fileId)} order by number limit 1`,
    /** Returns a row if the file has the part with this key. */
    isMarked: (bucketKey: string, fileId: string, key: string) =>
      sql`select key from file_objects where key = ${key} and ${isPart(bucketKey, fileId)}`,
    insertObject: (row: ObjectRow) => sql`${fileObjects.insert(row)}`,
    /** Updates an object in state `writing`. Changes no row if it was claimed for removal concurrently. */
    settleObject: (key: string, change: Partial<ObjectRow>) =>
      sql`update file_objects set ${fileObjects.set(change)} where key = ${key} and state = 'writing'`,
    /** Marks the objects of deleted files for removal. */
    leaveObjects: (bucketKey: string, fileIds: readonly string[], now: Instant) => sql`
      update file_objects set state = 'removed', changed_at = ${now}
      where bucket_key = ${bucketKey} and state = 'stored' and file_id ${oneOf(fileIds)}`,
  };
}

/** Removal of objects, and comparison with the file store. */
function removalStatements(sql: Sql) {
  return {
    /** Objects after a key, in order of their keys, each with a flag for a missing file. */
    strays: (after: string, limit: number) => sql`
      select key, case when ${isStray} then 1 else 0 end as is_stray from file_objects
      where key > ${after} order by key limit ${limit}`,
    leaveStrays: (keys: readonly string[], now: Instant) =>
      sql`update file_objects set state = 'removed', changed_at = ${now} where key ${oneOf(keys)} and ${isStray}`,
    /** Objects that have been in a state since before a time. */
    left: (state: 'writing' | 'removed', before: Instant, limit: number) =>
      sql`select key from file_objects where state = ${state} and changed_at <= ${before} limit ${limit}`,
    /** Claims objects for removal. After that, an object in state `writing` can no longer be stored. */
    claim: (keys: readonly string[], now: Instant) => sql`
      update file_objects set state = 'removed', changed_at = ${now} where key ${oneOf(keys)} and state <> 'stored'`,
    forget: (keys: readonly string[]) => sql`delete from file_objects where key ${oneOf(keys)} and state = 'removed'`,
    /** Objects after a key, in order of their keys. */
    objectsAfter: (key: string, limit: number) =>
      sql`select key, state, stored_size from file_objects where key > ${key} order by key limit ${limit}`,
    /** The distinct files that objects belong to. */
    filesOf: (keys: readonly string[]) => sql`
      select distinct file_objects.project_id, buckets.id as bucket_id, file_id
      from file_objects join buckets on buckets.key = file_objects.bucket_key
      where file_objects.key ${oneOf(keys)} and file_id is not null order by bucket_id, file_id`,
    known: (keys: readonly string[]) => sql`select key from file_objects where key ${oneOf(keys)}`,
  };
}
