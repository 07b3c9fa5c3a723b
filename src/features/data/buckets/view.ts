import { z } from 'zod';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import type { Bucket } from './store.js';

/** A bucket on the wire. */
export const bucketShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    $permissions: z.array(z.string()),
    fileSecurity: z.boolean(),
    name: z.string(),
    enabled: z.boolean(),
    maximumFileSize: z.int(),
    allowedFileExtensions: z.array(z.string()),
    compression: z.enum(['none', 'gzip']),
    encryption: z.boolean(),
    antivirus: z.literal(false),
    transformations: z.boolean(),
    totalSize: z.int(),
  })
  .meta({ id: 'Bucket' });

/** Converts a bucket to its wire format. `antivirus` is always false: there is no virus scanner. */
export function toBucket(bucket: Bucket): z.input<typeof bucketShape> {
  return {
    $id: bucket.id,
    $createdAt: toWireInstant(bucket.createdAt),
    $updatedAt: toWireInstant(bucket.updatedAt),
    $permissions: [...bucket.permissions],
    fileSecurity: bucket.fileSecurity,
    name: bucket.name,
    enabled: bucket.enabled,
    maximumFileSize: bucket.maximumFileSize,
    allowedFileExtensions: [...bucket.allowedFileExtensions],
    compression: bucket.compression,
    encryption: bucket.encryption,
    antivirus: false,
    transformations: bucket.transformations,
    totalSize: bucket.totalSize,
  };
}
