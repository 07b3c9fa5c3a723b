import { z } from 'zod';
import type { Project } from '#src/contract/project.js';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import type { ApiKey } from './keys.js';
import type { ProjectPlatform } from './platforms.js';

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

/** Prints a project for operators. */
export function toProject(project: Project) {
  return {
    $id: project.id,
    $createdAt: toWireInstant(project.createdAt),
    $updatedAt: toWireInstant(project.updatedAt),
    name: project.name,
    settings: { ...project.settings },
    hostnames: [...project.hostnames],
  };
}

/** Prints a server key, never with its secret. */
export function toKey(key: ApiKey) {
  return {
    $id: key.id,
    $createdAt: toWireInstant(key.createdAt),
    $updatedAt: toWireInstant(key.updatedAt),
    projectId: key.projectId,
    name: key.name,
    scopes: [...key.scopes],
    expire: toWireInstant(key.expire),
    accessedAt: toWireInstant(key.accessedAt),
  };
}
