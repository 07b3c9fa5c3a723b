import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Failure } from '#src/contract/errors.js';
import { FileContent } from '#src/contract/file-content.js';
import { previewLimits } from '#src/contract/limits.js';
import type { Reading } from '#src/contract/reading.js';
import { isGone } from '#src/platform/db/lane.js';
import { createDiskCache } from '#src/platform/disk-cache.js';
import { type ConvertedImage, type ImageFormat, ImageRefused, type ImageRequest } from '#src/platform/images/index.js';
import type { Runtime } from '#src/platform/index.js';
import { openBuffer, sealBuffer } from '#src/platform/sealed-stream.js';
import type { Where } from '../access.js';
import type { ContentReader } from '../content/reader.js';
import type { FileInBucket } from '../service.js';
import { type FileRow, type FileStatements, fileObjects } from '../store.js';
import { createMemory } from './memory.js';
import { createShare } from './share.js';

/** Shows images in other sizes and formats. */
export interface Previews {
  /** Throws Failure where the file is no image that can be shown. */
  of(where: Where, file: FileInBucket, request: ImageRequest): Promise<FileContent>;
  /** Removes what is kept of the file that the object is a part of. */
  forget(objectKey: string): Promise<void>;
}

/** For which project and client a preview is made. */
type PreviewCall = Pick<Where, 'project' | 'reading'>;

/** Creates the previews of one process; what has been made is kept on the disk, encrypted as files are. */
export function createPreviews(
  { config, db, images, sealing }: Pick<Runtime, 'config' | 'db' | 'images' | 'sealing'>,
  { reader, statements }: { readonly reader: ContentReader; readonly statements: FileStatements },
): Previews {
  const cache = createDiskCache(join(config.dataDir, 'previews'), {
    bytes: previewLimits.cacheBytes,
    entries: previewLimits.cacheEntries,
    largest: previewLimits.cachedBytes,
  });
  const share = createShare(previewLimits.ofCaller);
  const takeMemory = createMemory();
  /** What is being made, by its key: who asks for the same gets the same. */
  const underWay = new Map<string, Promise<ConvertedImage>>();

  const convert = async (
    { project, reading }: PreviewCall,
    file: FileRow,
    request: ImageRequest,
  ): Promise<ConvertedImage> => {
    try {
      return await images.convert(reading, () => reader.open(project, file, 0, file.sizeOriginal - 1), request);
    } catch (error) {
      throw error instanceof ImageRefused ? failureOf(error) : error;
    }
  };
  const keptOf = async (
    account: string,
    group: string,
    key: string,
    secret: Buffer,
  ): Promise<ConvertedImage | undefined> => {
    const size = await cache.sizeOf(group, key);
    if (size === undefined) return undefined;
    const giveBack = takeMemory(account, size);
    try {
      const sealed = await cache.get(group, key);
      const kept = sealed && openBuffer(secret, sealed);
      return kept && unpack(kept);
    } finally {
      giveBack();
    }
  };
  const make = async (
    call: PreviewCall,
    file: FileRow,
    request: ImageRequest,
    key: string,
  ): Promise<ConvertedImage> => {
    const { project, reading } = call;
    const [first] = await db.all(statements.parts({ bucketKey: file.bucketKey, fileId: file.id }));
    if (first === undefined) throw new Failure('storage_file_not_found');
    const group = groupOf(fileObjects.decode(first).key);
    const secret = sealing.objectKey(project.id, project.dataKey, `preview/${group}/${key}`);
    const kept = await keptOf(reading.account, group, key, secret);
    if (kept !== undefined) return kept;
    const image = await convert(call, file, request);
    await cache.set(group, key, sealBuffer(secret, pack(image)));
    // The file was deleted meanwhile: nobody would remove this any more.
    if ((await db.all(statements.parts({ bucketKey: file.bucketKey, fileId: file.id }))).length === 0)
      await cache.forget(group);
    return image;
  };
  const shared = async (
    call: PreviewCall,
    file: FileRow,
    request: ImageRequest,
    key: string,
  ): Promise<ConvertedImage> => {
    const place = `${call.project.id} ${key}`;
    for (;;) {
      const known = underWay.get(place);
      const made = known ?? make(call, file, request, key).finally(() => underWay.delete(place));
      if (known === undefined) underWay.set(place, made);
      try {
        return await made;
      } catch (error) {
        // The client for which it was to be made is gone, and this one is not.
        if (known === undefined || call.reading.waiter.isGone || !isGone(error)) throw error;
      }
    }
  };
  /** A preview is in memory as a whole until its response has left. */
  const holdUntilSent = ({ account, waiter }: Reading, size: number): void => {
    const giveBack = takeMemory(account, size);
    if (waiter.isGone) giveBack();
    else waiter.onGone(giveBack);
  };
  return {
    of: async (call, { bucket, file }, request) => {
      if (!bucket.transformations) throw new Failure('storage_bucket_transformations_disabled');
      if (!file.mimeType.startsWith('image/') || file.mimeType === 'image/svg+xml') throw unsupported();
      const key = keyOf(file, request);
      const { bytes, format } = await share(call.reading.account, () => shared(call, file, request, key));
      holdUntilSent(call.reading, bytes.length);
      return new FileContent({
        size: bytes.length,
        type: `image/${format}`,
        name: nameOf(file.name, format),
        etag: key,
        isInline: true,
        open: async (start, end) => Readable.from([bytes.subarray(start, end + 1)], { objectMode: false }),
      });
    },
    forget: (objectKey) => cache.forget(groupOf(objectKey)),
  };
}

/** The bytes of the file and what is asked for, so another content never meets an old preview. */
function keyOf({ id, bucketKey, digest }: FileRow, request: ImageRequest): string {
  const asked = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([bucketKey, id, digest, asked]))
    .digest('hex');
}

/** Previews of a file are kept under the object of its first part, with which they go. */
function groupOf(objectKey: string): string {
  return createHash('sha256').update(objectKey).digest('hex').slice(0, 32);
}

function nameOf(name: string, format: ImageFormat): string {
  return `${name.replace(/\.[^.]*$/, '') || 'preview'}.${format === 'jpeg' ? 'jpg' : format}`;
}

/** The format in a line of its own, then the bytes. */
function pack({ bytes, format }: ConvertedImage): Buffer {
  return Buffer.concat([Buffer.from(`${format}\n`), bytes]);
}

function unpack(packed: Buffer): ConvertedImage {
  const end = packed.indexOf('\n');
  // Only `pack` makes what is opened here.
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
