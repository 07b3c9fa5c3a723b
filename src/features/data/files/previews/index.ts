import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Failure } from '#src/contract/errors.js';
import { FileContent } from '#src/contract/file-content.js';
import { previewLimits } from '#src/contract/limits.js';
import type { Reading } from '#src/contract/reading.js';
import { Quota } from '#src/platform/admission/quota.js';
import { createDiskCache, type DiskCache } from '#src/platform/cache/disk-cache.js';
import { openBuffer, sealBuffer } from '#src/platform/crypto/sealed-stream.js';
import { isGone } from '#src/platform/db/list-slots.js';
import { type ConvertedImage, type ImageFormat, ImageRefused, type ImageRequest } from '#src/platform/images/index.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { retry } from '#src/platform/runtime/retry.js';
import { createSingleFlight, type SingleFlight } from '#src/platform/runtime/single-flight.js';
import type { ContentReader } from '../content/reader.js';
import type { BucketContext } from '../model/access.js';
import type { FileInBucket } from '../model/service.js';
import { type FileRow, type FileStatements, fileObjects } from '../model/store.js';
import { createMemory } from './memory.js';

/** Converts images to other sizes and formats. */
export interface Previews {
  /** Throws Failure if the file is not an image that can be converted. */
  of(where: BucketContext, file: FileInBucket, request: ImageRequest): Promise<FileContent>;
  /** Removes the cached previews of the file that the object belongs to. */
  forget(objectKey: string): Promise<void>;
}

interface Deps extends Pick<Runtime, 'db' | 'images' | 'sealing'> {
  readonly reader: ContentReader;
  readonly statements: FileStatements;
  readonly cache: DiskCache;
  /** Previews being made, per caller. */
  readonly tasks: Quota;
  readonly takeMemory: (caller: string, bytes: number) => () => void;
  /** Converts an image once for all concurrent requests for the same preview. */
  readonly makeOnce: SingleFlight<ConvertedImage>;
}

/** A preview of a file for a client, and its key in the cache. */
interface Preview extends Pick<BucketContext, 'project' | 'reading'> {
  readonly file: FileRow;
  readonly request: ImageRequest;
  readonly key: string;
}

/** Creates the previews of one process. Caches them on disk, encrypted like files. */
export function createPreviews(
  { config, db, images, sealing }: Pick<Runtime, 'config' | 'db' | 'images' | 'sealing'>,
  given: Pick<Deps, 'reader' | 'statements'>,
): Previews {
  const cache = createDiskCache(join(config.dataDir, 'previews'), {
    bytes: previewLimits.cacheBytes,
    entries: previewLimits.cacheEntries,
    largest: previewLimits.cachedBytes,
  });
  const tasks = new Quota({
    all: Number.POSITIVE_INFINITY,
    ofOwner: previewLimits.ofCaller,
    refuse: () => new Failure('general_unavailable', { retryAfter: 1, cause: 'previews of one caller' }),
  });
  const [takeMemory, makeOnce] = [createMemory(), createSingleFlight<ConvertedImage>()];
  const deps: Deps = { ...given, db, images, sealing, cache, tasks, takeMemory, makeOnce };
  return { ...bind(deps, { of: previewOf }), forget: (objectKey) => cache.forget(groupOf(objectKey)) };
}

async function previewOf(
  deps: Deps,
  { project, reading }: BucketContext,
  { bucket, file }: FileInBucket,
  request: ImageRequest,
): Promise<FileContent> {
  if (!bucket.transformations) throw new Failure('storage_bucket_transformations_disabled');
  if (!file.mimeType.startsWith('image/') || file.mimeType === 'image/svg+xml') throw unsupported();
  const key = keyOf(file, request);
  const preview = { project, reading, file, request, key };
  const leave = deps.tasks.hold(reading.account);
  const { bytes, format } = await shared(deps, preview).finally(leave);
  holdUntilSent(deps, reading, bytes.length);
  return new FileContent({
    size: bytes.length,
    type: `image/${format}`,
    name: nameOf(file.name, format),
    etag: key,
    isInline: true,
    open: async (start, end) => Readable.from([bytes.subarray(start, end + 1)], { objectMode: false }),
  });
}

function shared(deps: Deps, preview: Preview): Promise<ConvertedImage> {
  let isOwn = false;
  const makeOwn = () => {
    isOwn = true;
    return make(deps, preview);
  };
  // Tries again if the conversion ended because another client disconnected.
  return retry(
    () => deps.makeOnce(makeOwn, `${preview.project.id} ${preview.key}`),
    (error) => !isOwn && !preview.reading.waiter.isGone && isGone(error),
  );
}

async function make(deps: Deps, preview: Preview): Promise<ConvertedImage> {
  const { db, statements, sealing, cache } = deps;
  const { project, file, key } = preview;
  const parts = () => db.all(statements.parts({ bucketKey: file.bucketKey, fileId: file.id }));
  const [first] = await parts();
  if (first === undefined) throw new Failure('storage_file_not_found');
  const group = groupOf(fileObjects.decode(first).key);
  const secret = sealing.objectKey(project.id, project.dataKey, `preview/${group}/${key}`);
  const kept = await keptOf(deps, preview, group, secret);
  if (kept !== undefined) return kept;
  const image = await convert(deps, preview);
  await cache.set(group, key, sealBuffer(secret, pack(image)));
  // If the file was deleted concurrently, no later step would remove this cache entry.
  if ((await parts()).length === 0) await cache.forget(group);
  return image;
}

async function keptOf({ cache, takeMemory }: Deps, { reading, key }: Preview, group: string, secret: Buffer) {
  const size = await cache.sizeOf(group, key);
  if (size === undefined) return undefined;
  const giveBack = takeMemory(reading.account, size);
  try {
    const sealed = await cache.get(group, key);
    const kept = sealed && openBuffer(secret, sealed);
    return kept && unpack(kept);
  } finally {
    giveBack();
  }
}

async function convert({ images, reader }: Deps, { project, reading, file, request }: Preview) {
  try {
    return await images.convert(reading, () => reader.open(project, file, 0, file.sizeOriginal - 1), request);
  } catch (error) {
    throw error instanceof ImageRefused ? failureOf(error) : error;
  }
}

/** Counts a preview as memory until its response has been sent. */
function holdUntilSent({ takeMemory }: Deps, { account, waiter }: Reading, size: number): void {
  const giveBack = takeMemory(account, size);
  if (waiter.isGone) giveBack();
  else waiter.onGone(giveBack);
}

/** Contains the digest of the file, so that new content never matches an old preview. */
function keyOf({ id, bucketKey, digest }: FileRow, request: ImageRequest): string {
  const asked = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([bucketKey, id, digest, asked]))
    .digest('hex');
}

/** Previews of a file are grouped by the object of its first part and removed with it. */
function groupOf(objectKey: string): string {
  return createHash('sha256').update(objectKey).digest('hex').slice(0, 32);
}

function nameOf(name: string, format: ImageFormat): string {
  return `${name.replace(/\.[^.]*$/, '') || 'preview'}.${format === 'jpeg' ? 'jpg' : format}`;
}

/** The format on a line of its own, followed by the bytes. */
function pack({ bytes, format }: ConvertedImage): Buffer {
  return Buffer.concat([Buffer.from(`${format}\n`), bytes]);
}

function unpack(packed: Buffer): ConvertedImage {
  const end = packed.indexOf('\n');
  // Safe: `pack` wrote this value.
  return { format: packed.toString('latin1', 0, end) as ImageFormat, bytes: packed.subarray(end + 1) };
}

function unsupported(cause?: unknown): Failure {
  return new Failure('storage_file_type_unsupported', {
    message: 'The file is not an image of a supported format: JPEG, PNG, WebP, GIF or AVIF.',
    cause,
  });
}

function failureOf(error: ImageRefused): Failure {
  return error.reason === 'unsupported'
    ? unsupported(error)
    : new Failure('storage_image_resolution_exceeded', { cause: error });
}
