import { Failure } from '#src/contract/errors.js';
import { projectLimits } from '#src/contract/limits.js';
import type { PlatformType } from '#src/contract/platform.js';
import { uniqueId } from '#src/contract/shapes.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { parseHost } from './hosts.js';
import { requireName } from './names.js';
import { type ProjectStore, platforms } from './store.js';

/** A platform of a project: the pages of a host name, or an app. */
export type ProjectPlatform = ReturnType<typeof platforms.decode>;

interface PlatformInput {
  readonly name: string;
  readonly type: PlatformType;
  /** For an app, its id. */
  readonly hostname: string;
}

type NewPlatform = PlatformInput & { readonly id: string };

/** Platforms of projects: pages and apps that may use a project. */
export interface Platforms {
  platforms(reader: Reader, projectId: string): Promise<ProjectPlatform[]>;
  /** Throws Failure `platform_not_found`. */
  platform(reader: Reader, projectId: string, id: string): Promise<ProjectPlatform>;
  /** A platform by its id alone. Throws Failure if there is none, or if several projects have one with that id. */
  platformById(reader: Reader, id: string): Promise<ProjectPlatform>;
  /** Throws Failure `platform_limit_exceeded`, and `platform_already_exists` if the id or host name is taken. */
  addPlatform(unit: Unit, projectId: string, input: NewPlatform): Promise<ProjectPlatform>;
  /**
   * Throws Failure `platform_not_found`, also for a platform of another type, and `platform_already_exists` if another platform of the
   * project has the host name.
   */
  updatePlatform(unit: Unit, projectId: string, id: string, input: PlatformInput): Promise<ProjectPlatform>;
  removePlatform(unit: Unit, projectId: string, id: string): Promise<void>;
}

interface Deps extends Pick<Runtime, 'random'> {
  readonly store: ProjectStore;
  readonly changed: (projectId: string) => void;
}

/** Creates the service of platforms. Calls `changed` with the project id after each change. */
export function createPlatforms(
  { random }: Pick<Runtime, 'random'>,
  store: ProjectStore,
  changed: (projectId: string) => void,
): Platforms {
  const deps: Deps = { random, store, changed };
  return bind(deps, {
    platforms: list,
    platform: get,
    platformById: getById,
    addPlatform: add,
    updatePlatform: update,
    removePlatform: remove,
  });
}

async function list({ store }: Deps, reader: Reader, projectId: string): Promise<ProjectPlatform[]> {
  return (await reader.all(store.platforms({ projectId }))).map((row) => platforms.decode(row));
}

async function get({ store }: Deps, reader: Reader, projectId: string, id: string): Promise<ProjectPlatform> {
  const row = await reader.one(store.findPlatform(projectId, id));
  if (row === undefined) throw new Failure('platform_not_found');
  return platforms.decode(row);
}

async function getById({ store }: Deps, reader: Reader, id: string): Promise<ProjectPlatform> {
  const [found, other] = (await reader.all(store.platformsById(id))).map((row) => platforms.decode(row));
  if (found === undefined) throw new Failure('platform_not_found');
  if (other !== undefined) {
    throw new Failure('general_argument_invalid', {
      message: 'Several projects have a platform of this id; name the project too.',
    });
  }
  return found;
}

async function add(deps: Deps, unit: Unit, projectId: string, input: NewPlatform): Promise<ProjectPlatform> {
  const { random, store, changed } = deps;
  const hostname = parseHost(input.type, input.hostname);
  if (input.name !== '') requireName('platform', input.name);
  await unit.one(store.hold(projectId));
  const { count } = (await unit.one(store.countPlatforms(projectId))) ?? {};
  if (Number(count) >= projectLimits.platforms) throw new Failure('platform_limit_exceeded');
  const id = input.id === uniqueId ? random.id() : input.id;
  const { type } = input;
  const times = { createdAt: unit.now, updatedAt: unit.now };
  const row = { id, projectId, name: input.name || hostname, type, hostname, ...times };
  if ((await unit.one(store.insertPlatform(row))) === undefined) throw new Failure('platform_already_exists');
  unit.record('platformAdded', { resource: `platforms/${id}`, payload: { type, hostname } });
  changed(projectId);
  return row;
}

async function update(deps: Deps, unit: Unit, projectId: string, id: string, input: PlatformInput) {
  const platform = await get(deps, unit, projectId, id);
  const { type } = input;
  if (platform.type !== type) throw new Failure('platform_not_found');
  const change = { name: input.name, hostname: parseHost(type, input.hostname), updatedAt: unit.now };
  const others = (await list(deps, unit, projectId)).filter((other) => other.id !== id && other.type === type);
  if (others.some((other) => other.hostname === change.hostname)) throw new Failure('platform_already_exists');
  try {
    await unit.run(deps.store.updatePlatform(projectId, id, change));
  } catch (error) {
    // If two platforms take the same host name concurrently, the unique index decides.
    if (error instanceof DatabaseError && error.kind === 'unique') throw new Failure('platform_already_exists');
    throw error;
  }
  unit.record('platformChanged', { resource: `platforms/${id}`, payload: { type, hostname: change.hostname } });
  deps.changed(projectId);
  return { ...platform, ...change };
}

async function remove(deps: Deps, unit: Unit, projectId: string, id: string): Promise<void> {
  const { type, hostname } = await get(deps, unit, projectId, id);
  await unit.run(deps.store.removePlatform(projectId, id));
  unit.record('platformRemoved', { resource: `platforms/${id}`, payload: { type, hostname } });
  deps.changed(projectId);
}
