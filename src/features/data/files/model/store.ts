import { grantsOf } from '#src/contract/permissions.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, bool, instant, integer, jsonText, nullable, table, text, word } from '#src/platform/db/table.js';

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
const isStray = `file_objects.state = 'stored' and not exists (
  select 1 from files where files.bucket_key = file_objects.bucket_key and files.id = file_objects.file_id)`;

/** SQL over files and the objects with their bytes. */
export function createFileStore(sql: Sql) {
  return { ...fileStatements(sql), ...batchStatements(sql), ...partStatements(sql), ...removalStatements(sql) };
}

/** SQL over files. */
export type FileStatements = ReturnType<typeof createFileStore>;

function fileStatements(sql: Sql) {
  const { knex } = sql;
  const one = (bucketKey: string, id: string) => knex(files.name).where({ bucket_key: bucketKey, id });
  const complete = (bucketKey: string) =>
    knex(files.name).where({ bucket_key: bucketKey }).whereNotNull('completed_at');
  return {
    find: sql.prepare<{ bucketKey: string; id: string }>((k, p) =>
      k(files.name).where({ bucket_key: p.bucketKey, id: p.id }).select(files.select(sql)),
    ),
    /** Locks the file until the end of the unit. */
    lock: (bucketKey: string, id: string): Query =>
      sql.compile(one(bucketKey, id).forUpdate().select(files.select(sql))),
    /** The next complete files in the order of their ids. */
    after: (bucketKey: string, id: string, limit: number): Query =>
      sql.compile(complete(bucketKey).andWhere('id', '>', id).orderBy('id').limit(limit).select(files.select(sql))),
    /** The permissions of complete files. */
    permissionsOf: (bucketKey: string, ids: readonly string[]): Query =>
      sql.compile(
        complete(bucketKey)
          .andWhere(sql.isOneOf('id', sql.list(ids)))
          .select('id', 'permissions'),
      ),
    /** Complete files. With roles, only those whose own permissions let one of the roles read. */
    rows: (bucketKey: string, roles: readonly string[] | undefined) => {
      const rows = complete(bucketKey);
      if (roles === undefined) return rows;
      const granted = sql.words.eachTextInJson('granted', 'files.permissions');
      const isGranted = `exists (select 1 from ${granted} where granted.value ${sql.words.isOneOf})`;
      return rows.whereRaw(isGranted, [sql.list(grantsOf('read', roles))]);
    },
    columns: () => files.select(sql),
    insert: (row: FileRow): Query =>
      sql.compile(knex(files.name).insert(files.encode(row)).onConflict().ignore().returning('id')),
    update: (bucketKey: string, id: string, change: Partial<FileRow>): Query =>
      sql.compile(one(bucketKey, id).update(files.encodeSome(change))),
    remove: (bucketKey: string, id: string): Query => sql.compile(one(bucketKey, id).delete()),
  };
}

/** Files that are changed together. */
function batchStatements(sql: Sql) {
  const { knex } = sql;
  return {
    /** Unfinished uploads of a creator, those idle for longest first. */
    unfinishedOf: (projectId: string, creator: string): Query =>
      // Filters by bucket: the index of unfinished files is by bucket, and the one by creator contains all files.
      sql.compile(
        knex(files.name)
          .whereNull('completed_at')
          .andWhere({ creator })
          .whereIn('bucket_key', knex('buckets').where({ project_id: projectId }).whereNull('deleted_at').select('key'))
          .orderBy(['updated_at', 'id'])
          .select(files.select(sql)),
      ),
    /** Unfinished uploads without a chunk since a time. */
    abandoned: (before: Instant, limit: number): Query =>
      sql.compile(
        knex(files.name)
          .whereNull('completed_at')
          .where('updated_at', '<', before)
          .limit(limit)
          .select(files.select(sql)),
      ),
    /** Files created by a user. */
    ofCreator: (projectId: string, creator: string, limit: number): Query =>
      sql.text(
        `select files.id, files.bucket_key, buckets.id as bucket_id from files join buckets on buckets.key = files.bucket_key
          where files.project_id = ? and files.creator = ? limit ${limit}`,
        [projectId, creator],
      ),
    /** Files of a bucket, complete or not. */
    some: (bucketKey: string, limit: number): Query =>
      sql.compile(knex(files.name).where({ bucket_key: bucketKey }).limit(limit).select('id')),
    removeSome: (bucketKey: string, ids: readonly string[]): Query =>
      sql.compile(
        knex(files.name)
          .where({ bucket_key: bucketKey })
          .where(sql.isOneOf('id', sql.list(ids)))
          .delete(),
      ),
  };
}

function partStatements(sql: Sql) {
  const { knex } = sql;
  const parts = (bucketKey: string, fileId: string) =>
    knex(fileObjects.name).where({ bucket_key: bucketKey, file_id: fileId, state: 'stored' });
  return {
    /** The parts of a file in order. */
    parts: sql.prepare<{ bucketKey: string; fileId: string }>((k, p) =>
      k(fileObjects.name)
        .where({ bucket_key: p.bucketKey, file_id: p.fileId, state: 'stored' })
        .orderBy('number')
        .select(fileObjects.select(sql)),
    ),
    part: (bucketKey: string, fileId: string, number: number): Query =>
      sql.compile(parts(bucketKey, fileId).where({ number }).select(fileObjects.select(sql))),
    /** The key of the first part of a file. It identifies the upload: a later file with the same id has other keys. */
    mark: (bucketKey: string, fileId: string): Query =>
      sql.compile(parts(bucketKey, fileId).orderBy('number').limit(1).select('key')),
    /** Returns a row if the file has the part with this key. */
    isMarked: (bucketKey: string, fileId: string, key: string): Query =>
      sql.compile(
        knex(fileObjects.name).where({ key, bucket_key: bucketKey, file_id: fileId, state: 'stored' }).select('key'),
      ),
    insertObject: (row: ObjectRow): Query => sql.compile(knex(fileObjects.name).insert(fileObjects.encode(row))),
    /** Updates an object in state `writing`. Changes no row if it was claimed for removal concurrently. */
    settleObject: (key: string, change: Partial<ObjectRow>): Query =>
      sql.compile(knex(fileObjects.name).where({ key, state: 'writing' }).update(fileObjects.encodeSome(change))),
    /** Marks the objects of deleted files for removal. */
    leaveObjects: (bucketKey: string, fileIds: readonly string[], now: Instant): Query =>
      sql.compile(
        knex(fileObjects.name)
          .where({ bucket_key: bucketKey, state: 'stored' })
          .where(sql.isOneOf('file_id', sql.list(fileIds)))
          .update({ state: 'removed', changed_at: now }),
      ),
  };
}

/** Removal of objects, and comparison with the file store. */
function removalStatements(sql: Sql) {
  const { knex } = sql;
  const ofKeys = (keys: readonly string[]) => knex(fileObjects.name).where(sql.isOneOf('key', sql.list(keys)));
  return {
    /** Objects after a key, in order of their keys, each with a flag for a missing file. */
    strays: (after: string, limit: number): Query =>
      sql.text(
        `select key, case when ${isStray} then 1 else 0 end as is_stray from file_objects
          where key > ? order by key limit ${limit}`,
        [after],
      ),
    leaveStrays: (keys: readonly string[], now: Instant): Query =>
      sql.compile(ofKeys(keys).whereRaw(isStray).update({ state: 'removed', changed_at: now })),
    /** Objects that have been in a state since before a time. */
    left: (state: 'writing' | 'removed', before: Instant, limit: number): Query =>
      sql.compile(knex(fileObjects.name).where({ state }).where('changed_at', '<=', before).limit(limit).select('key')),
    /** Claims objects for removal. After that, an object in state `writing` can no longer be stored. */
    claim: (keys: readonly string[], now: Instant): Query =>
      sql.compile(ofKeys(keys).whereNot({ state: 'stored' }).update({ state: 'removed', changed_at: now })),
    forget: (keys: readonly string[]): Query => sql.compile(ofKeys(keys).where({ state: 'removed' }).delete()),
    /** Objects after a key, in order of their keys. */
    objectsAfter: (key: string, limit: number): Query =>
      sql.text(`select key, state, stored_size from file_objects where key > ? order by key limit ${limit}`, [key]),
    /** The distinct files that objects belong to. */
    filesOf: (keys: readonly string[]): Query =>
      sql.compile(
        knex(fileObjects.name)
          .join('buckets', 'buckets.key', `${fileObjects.name}.bucket_key`)
          .where(sql.isOneOf(`${fileObjects.name}.key`, sql.list(keys)))
          .whereNotNull('file_id')
          .distinct(`${fileObjects.name}.project_id`, 'buckets.id as bucket_id', 'file_id')
          .orderBy(['bucket_id', 'file_id']),
      ),
    known: (keys: readonly string[]): Query => sql.compile(ofKeys(keys).select('key')),
  };
}
