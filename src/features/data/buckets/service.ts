import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import { expandPermissions } from '#src/contract/permissions.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type Bucket, type BucketStore, buckets, fileUsage, newBucket } from './store.js';

/** What a bucket is made of or changed to; what is undefined stays, or is the default. */
type BucketInput = {
  readonly [K in
    | 'name'
    | 'enabled'
    | 'fileSecurity'
    | 'permissions'
    | 'maximumFileSize'
    | 'allowedFileExtensions'
    | 'compression'
    | 'encryption'
    | 'transformations']?: Bucket[K] | undefined;
};

/** The service: buckets, and how much is in them. */
export interface Buckets {
  /** Throws Failure `storage_bucket_not_found`. */
  get(reader: Reader, projectId: string, id: string): Promise<Bucket>;
  find(reader: Reader, projectId: string, id: string): Promise<Bucket | undefined>;
  /** The id may be `unique()`. Throws Failure `storage_bucket_already_exists` and `storage_bucket_limit_exceeded`. */
  create(unit: Unit, projectId: string, id: string, input: BucketInput & { readonly name: string }): Promise<Bucket>;
  update(unit: Unit, projectId: string, id: string, input: BucketInput): Promise<Bucket>;
  /** Deletes a bucket; its files are gone for every caller at once, and a job removes them. */
  remove(unit: Unit, projectId: string, id: string): Promise<void>;
  /** Holds what a project has until the end of the unit; before single files, so that units meet in one order. */
  hold(unit: Unit, projectId: string): Promise<void>;
  /** Counts bytes, and files, that come into a bucket. Throws Failure `storage_quota_exceeded` and `storage_bucket_not_found`. */
  reserve(
    unit: Unit,
    project: Project,
    bucket: Bucket,
    added: { readonly files: number; readonly bytes: number },
  ): Promise<void>;
  /** Counts what has left a bucket. */
  release(
    unit: Unit,
    projectId: string,
    bucketKey: string,
    left: { readonly files: number; readonly bytes: number },
  ): Promise<void>;
  /** Throws Failure `storage_quota_exceeded` where so many bytes would be too many now. */
  demandRoom(reader: Reader, project: Project, bytes: number): Promise<void>;
}

/** Builds the service of buckets. */
export function createBuckets({ random }: Pick<Runtime, 'random'>, store: BucketStore): Buckets {
  const find: Buckets['find'] = async (reader, projectId, id) => {
    const row = await reader.one(store.find({ projectId, id }));
    return row === undefined ? undefined : buckets.decode(row);
  };
  const get: Buckets['get'] = async (reader, projectId, id) => {
    const bucket = await find(reader, projectId, id);
    if (bucket === undefined) throw new Failure('storage_bucket_not_found');
    return bucket;
  };
  const changed = (bucket: Bucket, { permissions, ...input }: BucketInput): Bucket => {
    const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
    const expanded = permissions === undefined ? {} : { permissions: expandPermissions(permissions, 'container') };
    return { ...bucket, ...given, ...expanded };
  };
  const recordOf = ({ id, name }: Bucket) => ({ resource: `buckets/${id}`, payload: { name } });
  return {
    find,
    get,
    create: async (unit, projectId, id, input) => {
      await unit.one(store.holdUsage(projectId));
      const { count } = (await unit.one(store.count(projectId))) ?? {};
      if (Number(count) >= fileLimits.buckets) throw new Failure('storage_bucket_limit_exceeded');
      const row = { key: random.id(), projectId, id: id === uniqueId ? random.id() : id, name: input.name };
      const bucket = changed(newBucket(row, fileLimits.defaultBytes, unit.now), input);
      if ((await unit.one(store.insert(bucket))) === undefined) throw new Failure('storage_bucket_already_exists');
      unit.record('bucketCreated', recordOf(bucket));
      return bucket;
    },
    update: async (unit, projectId, id, input) => {
      const { totalSize: _, files: __, key, ...bucket } = changed(await get(unit, projectId, id), input);
      const counted = await unit.one(store.update(key, { ...bucket, updatedAt: unit.now }));
      if (counted === undefined) throw new Failure('storage_bucket_not_found');
      const result = {
        ...bucket,
        key,
        updatedAt: unit.now,
        totalSize: Number(counted.total_size),
        files: Number(counted.files),
      };
      unit.record('bucketUpdated', recordOf(result));
      return result;
    },
    remove: async (unit, projectId, id) => {
      await unit.one(store.holdUsage(projectId));
      const bucket = await get(unit, projectId, id);
      const counted = await unit.one(store.update(bucket.key, { deletedAt: unit.now }));
      if (counted === undefined) throw new Failure('storage_bucket_not_found');
      const left = { files: Number(counted.files), bytes: Number(counted.total_size) };
      await unit.run(store.addUsage(projectId, -left.bytes));
      unit.record('bucketDeleted', { resource: `buckets/${id}`, payload: { name: bucket.name, ...left } });
    },
    hold: async (unit, projectId) => {
      await unit.one(store.holdUsage(projectId));
    },
    reserve: async (unit, project, bucket, { files, bytes }) => {
      const row = await unit.one(store.holdUsage(project.id));
      if (Number(row?.bytes) + bytes > project.settings['files.maxBytes']) throw new Failure('storage_quota_exceeded');
      await unit.run(store.addUsage(project.id, bytes));
      if ((await unit.run(store.add(bucket.key, files, bytes))) === 0) throw new Failure('storage_bucket_not_found');
    },
    release: async (unit, projectId, bucketKey, { files, bytes }) => {
      await unit.one(store.holdUsage(projectId));
      // What a deleted bucket had was given back with it.
      if ((await unit.run(store.add(bucketKey, -files, -bytes))) > 0) await unit.run(store.addUsage(projectId, -bytes));
    },
    demandRoom: async (reader, project, bytes) => {
      const row = await reader.one(store.usage(project.id));
      if ((row === undefined ? 0 : fileUsage.decode(row).bytes) + bytes > project.settings['files.maxBytes'])
        throw new Failure('storage_quota_exceeded');
    },
  };
}
