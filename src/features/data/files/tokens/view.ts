import { z } from 'zod';
import { toWireInstant, wireInstant, wireInstantOrEmpty } from '#src/contract/shapes.js';
import type { FileTokenRow } from './store.js';

/** A file token on the wire. */
export const fileTokenShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    resourceId: z.string(),
    resourceType: z.literal('files'),
    expire: wireInstantOrEmpty,
    secret: z.string(),
    accessedAt: wireInstantOrEmpty,
  })
  .meta({ id: 'ResourceToken' });

/** Converts a file token to its wire format. */
export function toFileToken(token: FileTokenRow, secret: string): z.input<typeof fileTokenShape> {
  return {
    $id: token.id,
    $createdAt: toWireInstant(token.createdAt),
    resourceId: `${token.bucketId}:${token.fileId}`,
    resourceType: 'files',
    expire: toWireInstant(token.expire),
    secret,
    accessedAt: toWireInstant(token.accessedAt),
  };
}
