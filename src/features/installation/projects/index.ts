import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import type { SealedColumn } from '#src/platform/sealing.js';
import { platformsApi } from './api.js';
import { createRebinding } from './jobs.js';
import { createServerKeys } from './keys.js';
import { createProjects } from './service.js';
import { createProjectStore } from './store.js';
import { toPlatform } from './view.js';

export type { ServerKeys } from './keys.js';
export type { ProjectPlatform } from './platforms.js';
export type { Projects } from './service.js';
export { toKey, toPlatform, toProject } from './view.js';

/** About what a platform has as JSON. */
const platformBytes = 400;

/** Projects, their platforms and their server keys. */
export function createProjectsFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>,
) {
  const { db, sql } = runtime;
  const store = createProjectStore(sql);
  const projects = createProjects(runtime, store);
  const serverKeys = createServerKeys(runtime, store);
  const operations = implement(platformsApi, {
    create: async (call) =>
      toPlatform(
        await db.work(auditContextOf(call), (unit) =>
          projects.addPlatform(unit, call.project.id, {
            id: call.body.platformId,
            name: call.body.name,
            hostname: call.body.hostname,
          }),
        ),
      ),
    list: async (call) => {
      const found = await call.request.answer.read(async () => {
        const value = await projects.platforms(db, call.project.id);
        return { bytes: value.length * platformBytes, value };
      });
      return { total: found.length, platforms: found.map(toPlatform) };
    },
    get: async (call) => toPlatform(await projects.platform(db, call.project.id, call.params.platformId)),
    update: async (call) =>
      toPlatform(
        await db.work(auditContextOf(call), (unit) =>
          projects.updatePlatform(unit, call.project.id, call.params.platformId, call.body),
        ),
      ),
    delete: async (call) => {
      await db.work(auditContextOf(call), (unit) =>
        projects.removePlatform(unit, call.project.id, call.params.platformId),
      );
    },
  });
  return {
    projects,
    serverKeys,
    operations,
    /** The job that binds what was sealed before to its row, in all columns that hold sealed values. */
    rebinding: (columns: readonly SealedColumn[]) => createRebinding(runtime, store, { projects, columns }),
  };
}
