import { grantsOf } from '#src/contract/permissions.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, bool, instant, integer, json, nullable, table, text, word } from '#src/platform/db/table.js';

/** Files of buckets. */
export const files = table('files', {
  bucketKey: text,
  id: text,
  projectId: text,
  name: text,
  permissions: json<readonly string[]>(),
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

/** Objects of the file store: each is a part of a file, or waits to be removed. */
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

/** A condition for objects that are stored for a file that is gone. */
const isStray = `file_objects.state = 'stored' and not exists (
  select 1 from files where files.bucket_key = file_objects.bucket_key and files.id = file_objects.file_id)`;

/** SQL over the objects of files. */
function createObjectStore(sql: Sql) {
  const { knex } = sql;
  return {
    /** The parts of a file, in their order. */
    parts: sql.prepare<{ bucketKey: string; fileId: string }>((k, p) =>
      k(fileObjects.name)
        .where({ bucket_key: p.bucketKey, file_id: p.fileId, state: 'stored' })
        .orderBy('number')
        .select(fileObjects.select(sql)),
    ),
    part: (bucketKey: string, fileId: string, number: number): Query =>
      sql.compile(
        knex(fileObjects.name)
          .where({ bucket_key: bucketKey, file_id: fileId, state: 'stored', number })
          .select(fileObjects.select(sql)),
      ),
    /** The key of the first part that a file has now: no other file has it, ever, also none of the same id. */
    mark: (bucketKey: string, fileId: string): Query =>
      sql.compile(
        knex(fileObjects.name)
          .where({ bucket_key: bucketKey, file_id: fileId, state: 'stored' })
          .orderBy('number')
          .limit(1)
          .select('key'),
      ),
    /** Whether a file has the part of this key. */
    isMarked: (bucketKey: string, fileId: string, key: string): Query =>
      sql.compile(
        knex(fileObjects.name).where({ key, bucket_key: bucketKey, file_id: fileId, state: 'stored' }).select('key'),
      ),
    insertObject: (row: ObjectRow): Query => sql.compile(knex(fileObjects.name).insert(fileObjects.encode(row))),
    /** Changes an object that is being written; changes nothing where it was given up meanwhile. */
    settleObject: (key: string, change: Partial<ObjectRow>): Query =>
      sql.compile(knex(fileObjects.name).where({ key, state: 'writing' }).update(fileObjects.encodeSome(change))),
    /** The objects of files that are removed. */
    leaveObjects: (bucketKey: string, fileIds: readonly string[], now: Instant): Query =>
      sql.compile(
        knex(fileObjects.name)
          .where({ bucket_key: bucketKey, state: 'stored' })
          .where(sql.isOneOf('file_id', sql.list(fileIds)))
          .update({ state: 'removed', changed_at: now }),
      ),
    /** Objects after a key, in its order, and whether they are stored for a file that is gone. */
    strays: (after: string, limit: number): Query =>
      sql.text(
        `select key, case when ${isStray} then 1 else 0 end as is_stray from file_objects
          where key > ? order by key limit ${limit}`,
        [after],
      ),
    leaveStrays: (keys: readonly string[], now: Instant): Query =>
      sql.compile(
        knex(fileObjects.name)
          .where(sql.isOneOf('key', sql.list(keys)))
          .whereRaw(isStray)
          .update({ state: 'removed', changed_at: now }),
      ),
    /** Objects of a state that have it since before a time. */
    left: (state: 'writing' | 'removed', before: Instant, limit: number): Query =>
      sql.compile(knex(fileObjects.name).where({ state }).where('changed_at', '<=', before).limit(limit).select('key')),
    /** Claims objects for their removal: what is being written no more can be stored from now on. */
    claim: (keys: readonly string[], now: Instant): Query =>
      sql.compile(
        knex(fileObjects.name)
          .where(sql.isOneOf('key', sql.list(keys)))
          .whereNot({ state: 'stored' })
          .update({ state: 'removed', changed_at: now }),
      ),
    forget: (keys: readonly string[]): Query =>
      sql.compile(
        knex(fileObjects.name)
          .where(sql.isOneOf('key', sql.list(keys)))
          .where({ state: 'removed' })
          .delete(),
      ),
    /** Objects after a key, in its order. */
    objectsAfter: (key: string, limit: number): Query =>
      sql.text(`select key, state, stored_size from file_objects where key > ? order by key limit ${limit}`, [key]),
    /** The files that objects are parts of, each once. */
    filesOf: (keys: readonly string[]): Query =>
      sql.compile(
        knex(fileObjects.name)
          .join('buckets', 'buckets.key', `${fileObjects.name}.bucket_key`)
          .where(sql.isOneOf(`${fileObjects.name}.key`, sql.list(keys)))
          .whereNotNull('file_id')
          .distinct(`${fileObjects.name}.project_id`, 'buckets.id as bucket_id', 'file_id')
          .orderBy(['bucket_id', 'file_id']),
      ),
    known: (keys: readonly string[]): Query =>
      sql.compile(
        knex(fileObjects.name)
          .where(sql.isOneOf('key', sql.list(keys)))
          .select('key'),
      ),
  };
}

/** SQL over files and the objects that hold their bytes. */
export function createFileStore(sql: Sql) {
  const { knex } = sql;
  const one = (bucketKey: string, id: string) => knex(files.name).where({ bucket_key: bucketKey, id });
  const complete = (bucketKey: string) =>
    knex(files.name).where({ bucket_key: bucketKey }).whereNotNull('completed_at');
  return {
    find: sql.prepare<{ bucketKey: string; id: string }>((k, p) =>
      k(files.name).where({ bucket_key: p.bucketKey, id: p.id }).select(files.select(sql)),
    ),
    /** Held until the end of the unit. */
    lock: (bucketKey: string, id: string): Query =>
      sql.compile(one(bucketKey, id).forUpdate().select(files.select(sql))),
    /** The permissions of some files. */
    permissionsOf: (bucketKey: string, ids: readonly string[]): Query =>
      sql.compile(
        complete(bucketKey)
          .andWhere(sql.isOneOf('id', sql.list(ids)))
          .select('id', 'permissions'),
      ),
    /** Complete files; with roles only those whose own permissions let one of them read. */
    rows: (bucketKey: string, roles: readonly string[] | undefined) => {
      const rows = complete(bucketKey);
      if (roles === undefined) return rows;
      const granted = sql.list(grantsOf('read', roles));
      const entries =
        sql.dialect === 'sqlite'
          ? 'exists (select 1 from json_each(files.permissions) as granted where granted.value in (select value from json_each(?)))'
          : 'exists (select 1 from json_array_elements_text(cast(files.permissions as json)) as granted where granted = any(cast(? as text[])))';
      return rows.whereRaw(entries, [granted]);
    },
    columns: () => files.select(sql),
    /** The uploads of a creator that are not finished, those first that have been without a chunk for longest. */
    unfinishedOf: (projectId: string, creator: string): Query =>
      // By way of the buckets, as the index of unfinished files is by bucket and that by creator has all files.
      sql.compile(
        knex(files.name)
          .whereNull('completed_at')
          .andWhere({ creator })
          .whereIn('bucket_key', knex('buckets').where({ project_id: projectId }).whereNull('deleted_at').select('key'))
          .orderBy(['updated_at', 'id'])
          .select(files.select(sql)),
      ),
    insert: (row: FileRow): Query =>
      sql.compile(knex(files.name).insert(files.encode(row)).onConflict().ignore().returning('id')),
    update: (bucketKey: string, id: string, change: Partial<FileRow>): Query =>
      sql.compile(one(bucketKey, id).update(files.encodeSome(change))),
    remove: (bucketKey: string, id: string): Query => sql.compile(one(bucketKey, id).delete()),
    /** Files of a person. */
    ofCreator: (projectId: string, creator: string, limit: number): Query =>
      sql.text(
        `select files.id, files.bucket_key, buckets.id as bucket_id from files join buckets on buckets.key = files.bucket_key
          where files.project_id = ? and files.creator = ? limit ${limit}`,
        [projectId, creator],
      ),
    /** Uploads to which no chunk has come since a time. */
    abandoned: (before: Instant, limit: number): Query =>
      sql.compile(
        knex(files.name)
          .whereNull('completed_at')
          .where('updated_at', '<', before)
          .limit(limit)
          .select(files.select(sql)),
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

    ...createObjectStore(sql),
  };
}

/** SQL over files. */
export type FileStatements = ReturnType<typeof createFileStore>;
