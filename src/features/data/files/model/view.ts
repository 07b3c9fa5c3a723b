import { z } from 'zod';
import { RawJson } from '#src/contract/raw-json.js';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import { printJson } from '#src/platform/text/json.js';
import type { Bucket } from '../../buckets/index.js';
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

/** Converts a file to its wire format. An incomplete file has an empty signature and type. */
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

/** A file as the JSON of a response. */
export function fileReply(bucket: Pick<Bucket, 'id'>, file: FileRow): RawJson {
  return new RawJson(printJson(toFile(bucket, file)));
}

/** The prefix of every printed response with this file. No other file has it. */
export function beginOf({ id }: Pick<Bucket, 'id'>, file: Pick<FileRow, 'id'>): string {
  return `${printJson({ $id: file.id, bucketId: id }).slice(0, -1)},`;
}

/** A file, stored or printed, without its name and the data derived from its bytes. */
export function withoutContent<T extends Pick<FileRow, 'name' | 'signature'>>(file: T): T {
  return { ...file, name: '', signature: '', mimeType: '', sizeOriginal: 0, sizeActual: 0 };
}
