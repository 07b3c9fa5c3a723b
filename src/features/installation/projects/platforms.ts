import { Failure } from '#src/contract/errors.js';
import { projectLimits } from '#src/contract/limits.js';
import { uniqueId } from '#src/contract/shapes.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { parseHostname } from './hostnames.js';
import { demandName } from './names.js';
import { type ProjectStore, platforms } from './store.js';

/** A web origin of a project. */
export type ProjectPlatform = ReturnType<typeof platforms.decode>;

interface PlatformInput {
  readonly name: string;
  readonly hostname: string;
}

/** The platforms of projects: web origins whose pages may use a project. */
export interface Platforms {
  platforms(reader: Reader, projectId: string): Promise<ProjectPlatform[]>;
  /** Throws Failure `platform_not_found`. */
  platform(reader: Reader, projectId: string, id: string): Promise<ProjectPlatform>;
  /** A platform by its id alone. Throws Failure where there is none, or where several projects have one of that id. */
  platformById(reader: Reader, id: string): Promise<ProjectPlatform>;
  /** Throws Failure `platform_limit_exceeded`, and `platform_already_exists` where the id or the host name is taken. */
  addPlatform(unit: Unit, projectId: string, input: PlatformInput & { readonly id: string }): Promise<ProjectPlatform>;
  /** Throws Failure `platform_already_exists` where another platform of the project has the host name. */
  updatePlatform(unit: Unit, projectId: string, id: string, input: PlatformInput): Promise<ProjectPlatform>;
  removePlatform(unit: Unit, projectId: string, id: string): Promise<void>;
}

/** Creates the service of platforms; `changed` is told the project of each change. */
export function createPlatforms(
  { random }: Pick<Runtime, 'random'>,
  store: ProjectStore,
  changed: (projectId: string) => void,
): Platforms {
  const list: Platforms['platforms'] = async (reader, projectId) =>
    (await reader.all(store.platforms({ projectId }))).map((row) => platforms.decode(row));
  const get: Platforms['platform'] = async (reader, projectId, id) => {
    const row = await reader.one(store.findPlatform(projectId, id));
    if (row === undefined) throw new Failure('platform_not_found');
    return platforms.decode(row);
  };
  return {
    platforms: list,
    platform: get,
    platformById: async (reader, id) => {
      const [found, other] = (await reader.all(store.platformsById(id))).map((row) => platforms.decode(row));
      if (found === undefined) throw new Failure('platform_not_found');
      if (other !== undefined) {
        throw new Failure('general_argument_invalid', {
          message: 'Several projects have a platform of this id; name the project too.',
        });
      }
      return found;
    },
    addPlatform: async (unit, projectId, input) => {
      const hostname = parseHostname(input.hostname);
      if (input.name !== '') demandName('platform', input.name);
      await unit.one(store.hold(projectId));
      const { count } = (await unit.one(store.countPlatforms(projectId))) ?? {};
      if (Number(count) >= projectLimits.platforms) throw new Failure('platform_limit_exceeded');
      const id = input.id === uniqueId ? random.id() : input.id;
      const row = { id, projectId, name: input.name || hostname, hostname, createdAt: unit.now, updatedAt: unit.now };
      if ((await unit.one(store.insertPlatform(row))) === undefined) throw new Failure('platform_already_exists');
      unit.record('platformAdded', { resource: `platforms/${id}`, payload: { hostname } });
      changed(projectId);
      return row;
    },
    updatePlatform: async (unit, projectId, id, input) => {
      const platform = await get(unit, projectId, id);
      const change = { name: input.name, hostname: parseHostname(input.hostname), updatedAt: unit.now };
      const others = await list(unit, projectId);
      if (others.some((other) => other.id !== id && other.hostname === change.hostname))
        throw new Failure('platform_already_exists');
      try {
        await unit.run(store.updatePlatform(projectId, id, change));
      } catch (error) {
        // Two platforms may take one host name at the same moment; then the unique index decides.
        if (error instanceof DatabaseError && error.kind === 'unique') throw new Failure('platform_already_exists');
        throw error;
      }
      unit.record('platformChanged', { resource: `platforms/${id}`, payload: { hostname: change.hostname } });
      changed(projectId);
      return { ...platform, ...change };
    },
    removePlatform: async (unit, projectId, id) => {
      const { hostname } = await get(unit, projectId, id);
      await unit.run(store.removePlatform(projectId, id));
      unit.record('platformRemoved', { resource: `platforms/${id}`, payload: { hostname } });
      changed(projectId);
    },
  };
}
