import { z } from 'zod';
import { RawJson } from '#src/contract/raw-json.js';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import { printJson } from '#src/platform/json.js';
import type { Bucket } from '../buckets/index.js';
import type { FileRow } from './store.js';

/** A file on the wire. */
export const fileShape = z
  .object({
    $id: z.string(),
    bucketId: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    $permissions: z.array(z.string()),
    name: z.string(),
    signature: z.string(),
    mimeType: z.string(),
    sizeOriginal: z.int(),
    sizeActual: z.int(),
    chunksTotal: z.int(),
    chunksUploaded: z.int(),
    encryption: z.boolean(),
    compression: z.enum(['none', 'gzip']),
  })
  .meta({ id: 'File' });

/** Prints a file. Signature and type of one that is not complete are empty. */
export function toFile({ id }: Pick<Bucket, 'id'>, file: FileRow): z.input<typeof fileShape> {
  return {
    $id: file.id,
    bucketId: id,
    $createdAt: toWireInstant(file.createdAt),
    $updatedAt: toWireInstant(file.updatedAt),
    $permissions: [...file.permissions],
    name: file.name,
    signature: file.signature,
    mimeType: file.mimeType,
    sizeOriginal: file.sizeOriginal,
    sizeActual: file.sizeActual,
    chunksTotal: file.chunksTotal,
    chunksUploaded: file.chunksUploaded,
    encryption: file.encryption,
    compression: file.compression,
  };
}

/** Prints a file as the text of an answer. */
export function fileReply(bucket: Pick<Bucket, 'id'>, file: FileRow): RawJson {
  return new RawJson(printJson(toFile(bucket, file)));
}

/** How the text of every answer with this file begins, and of none with another. */
export function beginOf({ id }: Pick<Bucket, 'id'>, file: Pick<FileRow, 'id'>): string {
  return `${printJson({ $id: file.id, bucketId: id }).slice(0, -1)},`;
}

/** A file without whatever its name and its bytes say. */
export function withoutContent(file: FileRow): FileRow {
  return { ...file, name: '', signature: '', mimeType: '', sizeOriginal: 0, sizeActual: 0 };
}
