import { Failure } from '#src/contract/errors.js';
import { type Project, projectSettings } from '#src/contract/project.js';
import { customId } from '#src/contract/shapes.js';
import { Lru } from '#src/platform/cache/lru.js';
import { createLoader, type Loader } from '#src/platform/db/batch.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { slugOf } from '#src/platform/text/slug.js';
import type { MasterKeys } from '../master-key/index.js';
import { requireName } from './names.js';
import { createProjectOrigins, type ProjectOrigins } from './origins.js';
import { createPlatforms, type Platforms } from './platforms.js';
import { createProjectRemoval, type ProjectRemoval } from './removal.js';
import { mergeSettings } from './settings.js';
import { deletedProjects, type ProjectStore, platforms, projects } from './store.js';

/** Maximum age of a cached project, in milliseconds. */
const cacheMs = 500;
const cacheBounds = { bytes: 8_388_608, entries: 1000, largest: 1_048_576 } as const;

interface ProjectChange {
  readonly name?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Projects with their settings, platforms and origins. */
export interface Projects extends Platforms, ProjectOrigins, ProjectRemoval {
  /** Throws Failure `project_not_found`. */
  get(reader: Reader, id: string): Promise<Project>;
  /** A project from the cache, at most half a second old. Throws Failure `project_not_found`. */
  current(id: string): Promise<Project>;
  list(reader: Reader): Promise<Project[]>;
  /** True if there is any project. */
  any(reader: Reader): Promise<boolean>;
  /** The settings of every project, in one query. */
  settingsOfAll(reader: Reader): Promise<Pick<Project, 'id' | 'settings'>[]>;
  /**
   * A free id for a project of this name: the name reduced to the characters of an id, with a number if a current or deleted project uses
   * it. Another process may take the id first.
   */
  proposeId(reader: Reader, name: string): Promise<string>;
  /** Throws Failure `project_already_exists`, and `project_id_taken` for the id of a deleted project. */
  create(unit: Unit, input: Pick<Project, 'id' | 'name'>): Promise<Project>;
  /** Changes the name and single settings. A setting of null returns to its default. Throws Failure for unknown keys and invalid values. */
  update(unit: Unit, id: string, change: ProjectChange): Promise<Project>;
  /** True if a project with this id was deleted. */
  wasDeleted(reader: Reader, id: string): Promise<boolean>;
}

type ProjectRuntime = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>;

interface Deps extends Pick<ProjectRuntime, 'db' | 'clock' | 'random' | 'sealing'> {
  readonly store: ProjectStore;
  readonly masterKey: Pick<MasterKeys, 'requireCurrent'>;
  readonly cache: Lru<{ readonly project: Project; readonly until: number }>;
  /** Combines concurrent lookups into one when a cached project has expired. */
  readonly lookup: Loader<Project>;
}

/** Creates the service of projects. */
export function createProjects(runtime: ProjectRuntime, store: ProjectStore, masterKey: Deps['masterKey']): Projects {
  const { db, sql, clock, random, sealing } = runtime;
  const lookup = createLoader<Project>(sql.dialect, async (ids) => {
    const found = await Promise.all(ids.map((id) => find(store, db, id)));
    return new Map(found.flatMap((project) => (project === undefined ? [] : [[project.id, project]])));
  });
  const cache: Deps['cache'] = new Lru(cacheBounds);
  const deps: Deps = { db, clock, random, sealing, store, masterKey, cache, lookup };
  return {
    ...createPlatforms(runtime, store, (projectId) => cache.delete(projectId)),
    ...createProjectOrigins(runtime, store),
    ...createProjectRemoval(runtime, store, (projectId) => cache.delete(projectId)),
    ...bind(store, { get, list, settingsOfAll, wasDeleted }),
    ...bind(deps, { current, proposeId, create, update }),
    any: async (reader) => (await reader.one(store.first())) !== undefined,
  };
}

async function find(store: ProjectStore, reader: Reader, id: string): Promise<Project | undefined> {
  const row = await reader.one(store.find({ id }));
  if (row === undefined) return undefined;
  const { settings, ...rest } = projects.decode(row);
  const found = (await reader.all(store.platforms({ projectId: id }))).map((platform) => platforms.decode(platform));
  const hostnames = found.flatMap(({ type, hostname }) => (type === 'web' ? [hostname] : []));
  const apps = found.flatMap(({ type, hostname }) => (type === 'web' ? [] : [{ type, id: hostname }]));
  return { ...rest, settings: projectSettings.parse(settings), hostnames, apps };
}

function orFail(project: Project | undefined): Project {
  if (project === undefined) throw new Failure('project_not_found');
  return project;
}

async function get(store: ProjectStore, reader: Reader, id: string): Promise<Project> {
  return orFail(await find(store, reader, id));
}

async function current({ cache, clock, lookup }: Deps, id: string): Promise<Project> {
  const cached = cache.get(id);
  if (cached !== undefined && cached.until > clock.monotonic()) return cached.project;
  cache.delete(id);
  // Validates the id first: it is untrusted, and Postgres for example refuses a NUL character.
  if (!customId.safeParse(id).success) throw new Failure('project_not_found');
  const project = orFail(await lookup(id));
  const bytes = 8192 + 100 * project.hostnames.length + 300 * project.apps.length;
  cache.set(id, { project, until: clock.monotonic() + cacheMs }, bytes);
  return project;
}

async function rows(store: ProjectStore, reader: Reader) {
  return (await reader.all(store.list())).map((row) => projects.decode(row));
}

async function list(store: ProjectStore, reader: Reader): Promise<Project[]> {
  return Promise.all((await rows(store, reader)).map(({ id }) => get(store, reader, id)));
}

async function settingsOfAll(store: ProjectStore, reader: Reader) {
  return (await rows(store, reader)).map(({ id, settings }) => ({ id, settings: projectSettings.parse(settings) }));
}

async function proposeId({ random, store }: Deps, reader: Reader, name: string): Promise<string> {
  const slug = slugOf(name);
  if (slug === '') return random.id();
  const used = await rows(store, reader);
  const deleted = (await reader.all(store.listDeleted())).map((row) => deletedProjects.decode(row));
  const taken = new Set([...used, ...deleted].map(({ id }) => id));
  let id = slug;
  for (let number = 2; taken.has(id); number += 1) id = `${slug}-${number}`;
  return id;
}

async function create({ masterKey, sealing, store }: Deps, unit: Unit, { id, name }: Pick<Project, 'id' | 'name'>) {
  if (!customId.safeParse(id).success) {
    throw new Failure('general_argument_invalid', {
      message: 'The id of a project consists of A-Z a-z 0-9 . _ -.',
    });
  }
  requireName('project', name);
  await masterKey.requireCurrent(unit);
  const dataKey = sealing.newDataKey(id);
  const row = { id, name, settings: {}, dataKey, createdAt: unit.now, updatedAt: unit.now };
  const isNew = (await unit.one(store.insert(row))) !== undefined;
  // Runs after the insert: if that waited for a concurrent deletion, only now is the deletion visible.
  if (await wasDeleted(store, unit, id)) throw new Failure('project_id_taken');
  if (!isNew) throw new Failure('project_already_exists');
  unit.record('projectCreated', { resource: `projects/${id}`, payload: { name } });
  return get(store, unit, id);
}

async function update({ cache, store }: Deps, unit: Unit, id: string, change: ProjectChange): Promise<Project> {
  const row = await unit.one(store.find({ id }));
  if (row === undefined) throw new Failure('project_not_found');
  const project = projects.decode(row);
  const settings = mergeSettings(project.settings, change.settings ?? {});
  const name = change.name ?? project.name;
  if (change.name !== undefined) requireName('project', name);
  await unit.run(store.update(id, { name, settings, updatedAt: unit.now }));
  unit.record('projectUpdated', {
    resource: `projects/${id}`,
    payload: { name, settings: Object.keys(change.settings ?? {}) },
  });
  cache.delete(id);
  return get(store, unit, id);
}

async function wasDeleted(store: ProjectStore, reader: Reader, id: string): Promise<boolean> {
  return (await reader.one(store.findDeleted(id))) !== undefined;
}
