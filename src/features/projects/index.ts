import { by, implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import { platformsApi } from './api.js';
import { createServerKeys } from './keys.js';
import { createProjects } from './service.js';
import { createProjectStore } from './store.js';
import { toPlatform } from './view.js';

export type { ProjectPlatform, Projects } from './service.js';
export { toKey, toPlatform, toProject } from './view.js';

/** Projects, their platforms and their server keys. */
export function createProjectsFeature(
  platform: Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>,
) {
  const { db, sql } = platform;
  const store = createProjectStore(sql);
  const projects = createProjects(platform, store);
  const serverKeys = createServerKeys(platform, store);
  const operations = implement(platformsApi, {
    create: async (call) =>
      toPlatform(
        await db.work(by(call), (unit) =>
          projects.addPlatform(unit, call.project.id, {
            id: call.body.platformId,
            name: call.body.name,
            hostname: call.body.hostname,
          }),
        ),
      ),
    list: async (call) => {
      const found = await projects.platforms(db, call.project.id);
      return { total: found.length, platforms: found.map(toPlatform) };
    },
    get: async (call) => toPlatform(await projects.platform(db, call.project.id, call.params.platformId)),
    update: async (call) =>
      toPlatform(
        await db.work(by(call), (unit) =>
          projects.updatePlatform(unit, call.project.id, call.params.platformId, call.body),
        ),
      ),
    delete: async (call) => {
      await db.work(by(call), (unit) => projects.removePlatform(unit, call.project.id, call.params.platformId));
    },
  });
  return { projects, serverKeys, operations };
}
