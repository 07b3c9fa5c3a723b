import { auditContextOf, implement } from '#src/contract/operation.js';
import type { PlatformType } from '#src/contract/platform.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Runtime } from '#src/platform/index.js';
import type { MasterKeys } from '../master-key/index.js';
import { platformsApi } from './api.js';
import { createRebinding } from './jobs.js';
import { createServerKeys } from './keys.js';
import { createProjects } from './service.js';
import { createProjectStore } from './store.js';
import { toPlatform } from './view.js';

export type { ServerKeys } from './keys.js';
export type { ProjectPlatform } from './platforms.js';
export type { Projects } from './service.js';
export { isReferenceOn } from './settings.js';
export { toKey, toPlatform, toProject } from './view.js';

type InProject = Parameters<typeof auditContextOf>[0] & { readonly project: { readonly id: string } };
type Creation = InProject & { readonly body: { readonly platformId: string; readonly name: string } };
type Change = InProject & {
  readonly params: { readonly platformId: string };
  readonly body: { readonly name: string };
};

/** Approximate size of a platform as JSON, in bytes. */
const platformBytes = 400;

/** Builds projects with their platforms and server keys. */
export function createProjectsFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>,
  masterKey: MasterKeys,
) {
  const { db, sql } = runtime;
  const store = createProjectStore(sql);
  const projects = createProjects(runtime, store, masterKey);
  const serverKeys = createServerKeys(runtime, store);
  const create = async (call: Creation, type: PlatformType, hostname: string) => {
    const input = { id: call.body.platformId, name: call.body.name, type, hostname };
    return toPlatform(
      await db.work(auditContextOf(call), (unit) => projects.addPlatform(unit, call.project.id, input)),
    );
  };
  const update = async (call: Change, type: PlatformType, hostname: string) => {
    const { platformId } = call.params;
    const input = { name: call.body.name, type, hostname };
    return toPlatform(
      await db.work(auditContextOf(call), (unit) => projects.updatePlatform(unit, call.project.id, platformId, input)),
    );
  };
  const operations = implement(platformsApi, {
    create: (call) => create(call, 'web', call.body.hostname),
    createAndroid: (call) => create(call, 'android', call.body.applicationId),
    createApple: (call) => create(call, 'apple', call.body.bundleIdentifier),
    createLinux: (call) => create(call, 'linux', call.body.packageName),
    createWindows: (call) => create(call, 'windows', call.body.packageIdentifierName),
    list: async (call) => {
      const found = await call.request.budget.read(async (bytes) => {
        const value = await projects.platforms(db, call.project.id);
        bytes.count(value.length * platformBytes);
        return value;
      });
      return { total: found.length, platforms: found.map(toPlatform) };
    },
    get: async (call) => toPlatform(await projects.platform(db, call.project.id, call.params.platformId)),
    update: (call) => update(call, 'web', call.body.hostname),
    updateAndroid: (call) => update(call, 'android', call.body.applicationId),
    updateApple: (call) => update(call, 'apple', call.body.bundleIdentifier),
    updateLinux: (call) => update(call, 'linux', call.body.packageName),
    updateWindows: (call) => update(call, 'windows', call.body.packageIdentifierName),
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
    /** Creates the job that binds older sealed values to their rows, in all columns with sealed values. */
    rebinding: (columns: readonly SealedColumn[]) => createRebinding(runtime, store, { projects, masterKey, columns }),
  };
}
