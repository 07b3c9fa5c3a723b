import { z } from 'zod';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import type { ProjectPlatform } from './service.js';

/** A platform on the wire. */
export const platformShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    name: z.string(),
    type: z.literal('web'),
    hostname: z.string(),
    key: z.literal(''),
  })
  .meta({ id: 'Platform' });

/** Prints a platform. */
export function toPlatform(platform: ProjectPlatform): z.input<typeof platformShape> {
  return {
    $id: platform.id,
    $createdAt: toWireInstant(platform.createdAt),
    $updatedAt: toWireInstant(platform.updatedAt),
    name: platform.name,
    type: 'web',
    hostname: platform.hostname,
    key: '',
  };
}
