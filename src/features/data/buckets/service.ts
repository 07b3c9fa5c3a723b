import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import { expandPermissions } from '#src/contract/permissions.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { type Bucket, type BucketStore, buckets, fileUsage, newBucket } from './store.js';

/** Fields for a new or changed bucket. An undefined one keeps its value, or gets the default in a new bucket. */
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

type NewBucketInput = BucketInput & { readonly name: string };

/** Files and bytes to add to or subtract from the usage of a bucket. */
interface Amount {
  readonly files: number;
  readonly bytes: number;
}

/** The bucket service, which also counts files and bytes. */
export interface Buckets {
  /** Throws Failure `storage_bucket_not_found`. */
  get(reader: Reader, projectId: string, id: string): Promise<Bucket>;
  find(reader: Reader, projectId: string, id: string): Promise<Bucket | undefined>;
  /** The id may be `unique()`. Throws Failure `storage_bucket_already_exists` and `storage_bucket_limit_exceeded`. */
  create(unit: Unit, projectId: string, id: string, input: NewBucketInput): Promise<Bucket>;
  update(unit: Unit, projectId: string, id: string, input: BucketInput): Promise<Bucket>;
  /** Deletes a bucket. Its files disappear for every caller at once; a job removes them. */
  remove(unit: Unit, projectId: string, id: string): Promise<void>;
  /** Locks the usage of a project until the end of the unit. Call it before locking files, so that units lock in the same order. */
  hold(unit: Unit, projectId: string): Promise<void>;
  /** Counts files and bytes added to a bucket. Throws Failure `storage_quota_exceeded` and `storage_bucket_not_found`. */
  reserve(unit: Unit, project: Project, bucket: Bucket, added: Amount): Promise<void>;
  /** Counts files and bytes removed from a bucket. */
  release(unit: Unit, projectId: string, bucketKey: string, left: Amount): Promise<void>;
  /** Throws Failure `storage_quota_exceeded` if the project has no quota left for this many bytes. */
  requireRoom(reader: Reader, project: Project, bytes: number): Promise<void>;
}

interface Deps extends Pick<Runtime, 'config' | 'random'> {
  readonly store: BucketStore;
}

/** Builds the service of buckets. */
export function createBuckets({ config, random }: Pick<Runtime, 'config' | 'random'>, store: BucketStore): Buckets {
  return bind({ config, random, store }, { find, get, create, update, remove, hold, reserve, release, requireRoom });
}

async function find({ store }: Deps, reader: Reader, projectId: string, id: string): Promise<Bucket | undefined> {
  const row = await reader.one(store.find({ projectId, id }));
  return row === undefined ? undefined : buckets.decode(row);
}

async function get(deps: Deps, reader: Reader, projectId: string, id: string): Promise<Bucket> {
  const bucket = await find(deps, reader, projectId, id);
  if (bucket === undefined) throw new Failure('storage_bucket_not_found');
  return bucket;
}

async function create(
  { config, random, store }: Deps,
  unit: Unit,
  projectId: string,
  id: string,
  input: NewBucketInput,
): Promise<Bucket> {
  await unit.one(store.holdUsage(projectId));
  const { count } = (await unit.one(store.count(projectId))) ?? {};
  if (Number(count) >= fileLimits.buckets) throw new Failure('storage_bucket_limit_exceeded');
  const row = { key: random.id(), projectId, id: id === uniqueId ? random.id() : id, name: input.name };
  const bucket = changed(newBucket(row, config.fileMaxBytes, unit.now), input);
  if ((await unit.one(store.insert(bucket))) === undefined) throw new Failure('storage_bucket_already_exists');
  unit.record('bucketCreated', recordOf(bucket));
  return bucket;
}

async function update(deps: Deps, unit: Unit, projectId: string, id: string, input: BucketInput): Promise<Bucket> {
  const { totalSize: _, files: __, key, ...bucket } = changed(await get(deps, unit, projectId, id), input);
  const counted = await unit.one(deps.store.update(key, { ...bucket, updatedAt: unit.now }));
  if (counted === undefined) throw new Failure('storage_bucket_not_found');
  const counts = { totalSize: Number(counted.total_size), files: Number(counted.files) };
  const result = { ...bucket, key, updatedAt: unit.now, ...counts };
  unit.record('bucketUpdated', recordOf(result));
  return result;
}

async function remove(deps: Deps, unit: Unit, projectId: string, id: string): Promise<void> {
  const { store } = deps;
  await unit.one(store.holdUsage(projectId));
  const bucket = await get(deps, unit, projectId, id);
  const counted = await unit.one(store.update(bucket.key, { deletedAt: unit.now }));
  if (counted === undefined) throw new Failure('storage_bucket_not_found');
  const left = { files: Number(counted.files), bytes: Number(counted.total_size) };
  await unit.run(store.addUsage(projectId, -left.bytes));
  unit.record('bucketDeleted', { resource: `buckets/${id}`, payload: { name: bucket.name, ...left } });
}

async function hold({ store }: Deps, unit: Unit, projectId: string): Promise<void> {
  await unit.one(store.holdUsage(projectId));
}

async function reserve({ store }: Deps, unit: Unit, project: Project, bucket: Bucket, { files, bytes }: Amount) {
  const row = await unit.one(store.holdUsage(project.id));
  if (Number(row?.bytes) + bytes > project.settings['files.maxBytes']) throw new Failure('storage_quota_exceeded');
  await unit.run(store.addUsage(project.id, bytes));
  if ((await unit.run(store.add(bucket.key, files, bytes))) === 0) throw new Failure('storage_bucket_not_found');
}

async function release({ store }: Deps, unit: Unit, projectId: string, bucketKey: string, { files, bytes }: Amount) {
  await unit.one(store.holdUsage(projectId));
  // The bytes of a deleted bucket were subtracted when it was deleted.
  if ((await unit.run(store.add(bucketKey, -files, -bytes))) > 0) await unit.run(store.addUsage(projectId, -bytes));
}

async function requireRoom({ store }: Deps, reader: Reader, project: Project, bytes: number): Promise<void> {
  const row = await reader.one(store.usage(project.id));
  if ((row === undefined ? 0 : fileUsage.decode(row).bytes) + bytes > project.settings['files.maxBytes'])
    throw new Failure('storage_quota_exceeded');
}

function changed(bucket: Bucket, { permissions, ...input }: BucketInput): Bucket {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  const expanded = permissions === undefined ? {} : { permissions: expandPermissions(permissions, 'container') };
  return { ...bucket, ...given, ...expanded };
}

function recordOf({ id, name }: Bucket) {
  return { resource: `buckets/${id}`, payload: { name } };
}
