import { z } from 'zod';
import { appTypes, platformTypes } from '#src/contract/platform.js';
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
    type: z.enum(platformTypes),
    hostname: z.string(),
    key: z.string(),
    applicationId: z.string().optional(),
    bundleIdentifier: z.string().optional(),
    packageName: z.string().optional(),
    packageIdentifierName: z.string().optional(),
  })
  .meta({ id: 'Platform' });

/** Converts a platform to its wire format. An app's id is its `key`, and also the type-specific field that the SDKs know. */
export function toPlatform(platform: ProjectPlatform): z.input<typeof platformShape> {
  const { type, hostname } = platform;
  const isPage = type === 'web';
  return {
    $id: platform.id,
    $createdAt: toWireInstant(platform.createdAt),
    $updatedAt: toWireInstant(platform.updatedAt),
    name: platform.name,
    type,
    hostname: isPage ? hostname : '',
    key: isPage ? '' : hostname,
    ...(isPage ? {} : { [appTypes[type].member]: hostname }),
  };
}

/** Converts a project for operators. */
export function toProject(project: Project) {
  return {
    $id: project.id,
    $createdAt: toWireInstant(project.createdAt),
    $updatedAt: toWireInstant(project.updatedAt),
    name: project.name,
    settings: { ...project.settings },
    hostnames: [...project.hostnames],
    apps: project.apps.map(({ type, id }) => ({ type, package: id })),
  };
}

/** Converts a server key for operators, without its secret. */
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
