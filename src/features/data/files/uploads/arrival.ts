import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import { defaultPermissions, demandOwnRoles, expandPermissions } from '#src/contract/permissions.js';
import type { ChunkRange, Upload } from '#src/contract/upload.js';
import type { Bucket } from '../../buckets/index.js';
import { creatorOf, grants, type Where } from '../access.js';
import type { WrittenPart } from '../content/writer.js';
import type { FileRow } from '../store.js';

/** What a request carries: a whole file, or a chunk of one. */
export interface Arrival {
  readonly bucket: Bucket;
  readonly creator: string;
  readonly chunk: ChunkRange | undefined;
  /** Whether the bytes are compressed, where the file is new. */
  readonly gzip: boolean;
}

/** What a new file has besides its bytes. */
export interface NewFile {
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
}

/** The upload that a chunk belongs to, as it was found before the bytes of the chunk were read. */
export interface Begun {
  readonly file: FileRow;
  /** The key of one of its parts: a later upload of the same id has none of them. */
  readonly mark: string;
}

/** What a request carries. Throws Failure `user_unauthorized`. */
export function arrivalOf(where: Where, bucket: Bucket, upload: Upload, creatorKey: Buffer): Arrival {
  if (!grants(where, bucket, 'create')) throw new Failure('user_unauthorized');
  const { chunk, bodyBytes = Number.POSITIVE_INFINITY } = upload;
  const isSmall = chunk !== undefined || bodyBytes <= fileLimits.compressedBytes;
  return { bucket, creator: creatorOf(where, creatorKey), chunk, gzip: bucket.compression === 'gzip' && isSmall };
}

/** The permissions of a new file. Throws Failure for roles that are not the caller's own. */
export function permissionsOf({ actor }: Where, permissions: readonly string[] | undefined): string[] {
  if (permissions === undefined) return defaultPermissions(actor);
  const granted = expandPermissions(permissions, 'item');
  demandOwnRoles(granted, actor);
  return granted;
}

/** Of how many chunks a file of this size is made. */
export function chunksOf(size: number): number {
  return Math.ceil(size / fileLimits.chunkBytes);
}

/** Which chunk of its file it is, from 0. */
export function numberOf({ start }: ChunkRange): number {
  return start / fileLimits.chunkBytes;
}

/** Chunks begin at multiples of their size, so that none overlaps another. Throws Failure `storage_invalid_content_range`. */
export function demandChunk({ start, end, size }: ChunkRange): void {
  const { chunkBytes } = fileLimits;
  if (start % chunkBytes !== 0 || end !== Math.min(start + chunkBytes, size) - 1)
    throw new Failure('storage_invalid_content_range');
}

/** Throws Failure `storage_invalid_content_range` for a chunk with fewer bytes than it says. */
export function demandWhole(chunk: ChunkRange | undefined, { size }: WrittenPart): void {
  if (chunk !== undefined && size !== chunk.end - chunk.start + 1)
    throw new Failure('storage_invalid_content_range', {
      message: 'The chunk has fewer bytes than Content-Range says.',
    });
}

/** Throws Failure where a chunk is none of this file. */
export function demandSame(file: FileRow, creator: string, { size }: ChunkRange): void {
  if (file.creator !== creator) throw new Failure('storage_file_already_exists');
  if (file.sizeOriginal === size) return;
  throw new Failure(file.completedAt === null ? 'storage_invalid_content_range' : 'storage_file_already_exists');
}
