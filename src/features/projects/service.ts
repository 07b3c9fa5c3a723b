import { Failure } from '#src/contract/errors.js';
import { type Project, type ProjectSettings, projectSettings } from '#src/contract/project.js';
import { customId, uniqueId } from '#src/contract/shapes.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Platform as Machines } from '#src/platform/index.js';
import { hostnameCandidates, parseHostname } from './hostnames.js';
import { type ProjectStore, platforms, projects } from './store.js';

/** A web origin of a project. */
export type ProjectPlatform = ReturnType<typeof platforms.decode>;

/** How long a running process may answer from its copy of a project, in milliseconds. */
const cacheMs = 500;

type Parts = Pick<Machines, 'db' | 'clock' | 'random' | 'sealing' | 'config'>;

/** Projects with their settings and platforms. */
export function createProjects({ db, clock, random, sealing, config }: Parts, store: ProjectStore) {
  const cache = new Map<string, { readonly project: Project; readonly until: number }>();
  const removalSteps: ((unit: Unit, projectId: string) => Promise<void>)[] = [];
  const base = new URL(config.baseUrl);
  const isLocal = ['localhost', '127.0.0.1'].includes(base.hostname);

  const load = async (reader: Reader, id: string): Promise<Project | undefined> => {
    const row = await reader.one(store.find({ id }));
    if (row === undefined) return undefined;
    const { settings, ...rest } = projects.decode(row);
    const hostnames = (await reader.all(store.platforms({ projectId: id }))).map(
      (platform) => platforms.decode(platform).hostname,
    );
    return { ...rest, settings: projectSettings.parse(settings), hostnames };
  };
  const get = async (reader: Reader, id: string): Promise<Project> => {
    const project = await load(reader, id);
    if (project === undefined) throw new Failure('project_not_found');
    return project;
  };
  const getPlatform = async (reader: Reader, projectId: string, id: string): Promise<ProjectPlatform> => {
    const row = await reader.one(store.findPlatform(projectId, id));
    if (row === undefined) throw new Failure('platform_not_found');
    return platforms.decode(row);
  };

  const service = {
    get,
    /** A project as requests see it: at most half a second old. Throws Failure where there is none. */
    current: async (id: string): Promise<Project> => {
      const known = cache.get(id);
      if (known !== undefined && known.until > clock.monotonic()) return known.project;
      cache.delete(id);
      // Whatever a stranger sends here would reach the database; Postgres refuses a NUL character, for one.
      if (!customId.safeParse(id).success) throw new Failure('project_not_found');
      const project = await get(db, id);
      if (cache.size >= 1000) cache.clear();
      cache.set(id, { project, until: clock.monotonic() + cacheMs });
      return project;
    },
    list: async (reader: Reader): Promise<Project[]> => {
      const rows = await reader.all(store.list());
      return Promise.all(rows.map((row) => get(reader, projects.decode(row).id)));
    },
    /** The settings of every project, in one query. */
    settingsOfAll: async (reader: Reader): Promise<Pick<Project, 'id' | 'settings'>[]> =>
      (await reader.all(store.list())).map((row) => {
        const { id, settings } = projects.decode(row);
        return { id, settings: projectSettings.parse(settings) };
      }),
    create: async (unit: Unit, { id, name }: { id: string; name: string }): Promise<Project> => {
      const newId = id === uniqueId ? random.id() : id;
      if (!customId.safeParse(newId).success || name.trim() === '' || name.length > 128) {
        throw new Failure('general_argument_invalid', {
          message: 'A project needs a name of 1 to 128 characters and an id of A-Z a-z 0-9 . _ -.',
        });
      }
      const row = {
        id: newId,
        name,
        settings: {},
        dataKey: sealing.newDataKey(newId),
        createdAt: unit.now,
        updatedAt: unit.now,
      };
      if ((await unit.one(store.insert(row))) === undefined) throw new Failure('project_already_exists');
      unit.record('projectCreated', { resource: `projects/${newId}`, payload: { name } });
      return get(unit, newId);
    },
    /** Changes the name and single settings; a setting of null goes back to its default. Throws Failure for unknown keys and wrong values. */
    update: async (
      unit: Unit,
      id: string,
      change: { name?: string; settings?: Readonly<Record<string, unknown>> },
    ): Promise<Project> => {
      const row = await unit.one(store.find({ id }));
      if (row === undefined) throw new Failure('project_not_found');
      const project = projects.decode(row);
      const settings = mergeSettings(project.settings, change.settings ?? {});
      const name = change.name ?? project.name;
      await unit.run(store.update(id, { name, settings, updatedAt: unit.now }));
      unit.record('projectUpdated', {
        resource: `projects/${id}`,
        payload: { name, settings: Object.keys(change.settings ?? {}) },
      });
      cache.delete(id);
      return get(unit, id);
    },
    /** Registers what has to go before a project does and hangs on no foreign key. */
    beforeRemoval: (step: (unit: Unit, projectId: string) => Promise<void>): void => {
      removalSteps.push(step);
    },
    /** Deletes a project with everything in it. */
    remove: async (unit: Unit, id: string): Promise<void> => {
      const { name } = await get(unit, id);
      for (const step of removalSteps) await step(unit, id);
      await unit.run(store.remove(id));
      unit.record('projectDeleted', { resource: `projects/${id}`, payload: { name } });
      cache.delete(id);
    },

    platforms: async (reader: Reader, projectId: string): Promise<ProjectPlatform[]> =>
      (await reader.all(store.platforms({ projectId }))).map((row) => platforms.decode(row)),
    platform: getPlatform,
    /** A platform by its id alone. Throws Failure where there is none, or where several projects have one of that id. */
    platformById: async (reader: Reader, id: string): Promise<ProjectPlatform> => {
      const [found, other] = (await reader.all(store.platformsById(id))).map((row) => platforms.decode(row));
      if (found === undefined) throw new Failure('platform_not_found');
      if (other !== undefined) {
        throw new Failure('general_argument_invalid', {
          message: 'Several projects have a platform of this id; name the project too.',
        });
      }
      return found;
    },
    addPlatform: async (
      unit: Unit,
      projectId: string,
      given: { id: string; name: string; hostname: string },
    ): Promise<ProjectPlatform> => {
      const hostname = parseHostname(given.hostname);
      const id = given.id === uniqueId ? random.id() : given.id;
      const row = { id, projectId, name: given.name || hostname, hostname, createdAt: unit.now, updatedAt: unit.now };
      if ((await unit.one(store.insertPlatform(row))) === undefined) throw new Failure('platform_already_exists');
      unit.record('platformAdded', { resource: `platforms/${id}`, payload: { hostname } });
      cache.delete(projectId);
      return row;
    },
    updatePlatform: async (
      unit: Unit,
      projectId: string,
      id: string,
      given: { name: string; hostname: string },
    ): Promise<ProjectPlatform> => {
      const platform = await getPlatform(unit, projectId, id);
      const change = { name: given.name, hostname: parseHostname(given.hostname), updatedAt: unit.now };
      const others = await service.platforms(unit, projectId);
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
      cache.delete(projectId);
      return { ...platform, ...change };
    },
    removePlatform: async (unit: Unit, projectId: string, id: string): Promise<void> => {
      const { hostname } = await getPlatform(unit, projectId, id);
      await unit.run(store.removePlatform(projectId, id));
      unit.record('platformRemoved', { resource: `platforms/${id}`, payload: { hostname } });
      cache.delete(projectId);
    },
    /** Whether pages of this origin belong to the project (https, or http on localhost). */
    allowsOrigin: (project: Project, origin: string): boolean => {
      const url = webOrigin(origin);
      if (url === undefined) return false;
      return isOurs(url) || hostnameCandidates(url.hostname).some((name) => project.hostnames.includes(name));
    },
    /**
     * An address that a message or a redirect may lead to: on a platform of the project, without what could mislead (RFC 9700 §2.1).
     * Throws Failure for anything else.
     */
    demandOwnUrl: (project: Project, text: string, param = 'url'): URL => {
      const url = /[\\\p{Cc}\s]/u.test(text) || !URL.canParse(text) ? undefined : new URL(text);
      const isPlain = url !== undefined && url.username === '' && url.password === '' && url.hash === '';
      if (isPlain && service.allowsOrigin(project, url.origin)) return url;
      throw new Failure('general_argument_invalid', {
        message: `Invalid \`${param}\` param: must be an http or https URL whose host is a platform of the project.`,
      });
    },
    /** Whether any project has the origin; a preflight names no project. */
    anyAllowsOrigin: async (reader: Reader, origin: string): Promise<boolean> => {
      const url = webOrigin(origin);
      if (url === undefined) return false;
      return isOurs(url) || (await reader.one(store.anyPlatform(hostnameCandidates(url.hostname)))) !== undefined;
    },
    /** Whether the database was set up with another master key. The first caller leaves the mark. */
    masterKeyFits: async (unit: Unit): Promise<boolean> => {
      await unit.run(store.insertFact('key_check', sealing.keyCheck));
      const row = await unit.one(store.fact('key_check'));
      return row?.value === sealing.keyCheck;
    },
  };

  function isOurs(url: URL): boolean {
    return url.origin === base.origin || (isLocal && ['localhost', '127.0.0.1'].includes(url.hostname));
  }
  return service;
}

/** The projects service. */
export type Projects = ReturnType<typeof createProjects>;

function webOrigin(origin: string): URL | undefined {
  if (!URL.canParse(origin)) return undefined;
  const url = new URL(origin);
  const secure =
    url.protocol === 'https:' || (url.protocol === 'http:' && ['localhost', '127.0.0.1'].includes(url.hostname));
  return secure && url.origin === origin ? url : undefined;
}

function mergeSettings(
  stored: Partial<ProjectSettings>,
  change: Readonly<Record<string, unknown>>,
): Partial<ProjectSettings> {
  const merged: Record<string, unknown> = { ...stored };
  for (const [key, value] of Object.entries(change)) {
    if (!(key in projectSettings.shape)) {
      throw new Failure('general_argument_invalid', {
        message: `"${key}" is not a project setting. Known: ${Object.keys(projectSettings.shape).join(', ')}.`,
      });
    }
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  const parsed = projectSettings.safeParse(merged);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Failure('general_argument_invalid', {
      message: `Invalid \`${issue?.path.join('.')}\` setting: ${issue?.message}`,
    });
  }
  return merged as Partial<ProjectSettings>;
}
