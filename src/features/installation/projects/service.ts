import { Failure } from '#src/contract/errors.js';
import { type Project, projectSettings } from '#src/contract/project.js';
import { customId } from '#src/contract/shapes.js';
import { createLoader } from '#src/platform/db/batch.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Database, Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { Lru } from '#src/platform/lru.js';
import { slugOf } from '#src/platform/slug.js';
import { demandName } from './names.js';
import { createOrigins, type Origins } from './origins.js';
import { createPlatforms, type Platforms } from './platforms.js';
import { mergeSettings } from './settings.js';
import { deletedProjects, type ProjectStore, platforms, projects } from './store.js';

/** How long a running process may answer from its copy of a project, in milliseconds. */
const cacheMs = 500;
const cacheBounds = { bytes: 8_388_608, entries: 1000, largest: 1_048_576 } as const;

type RemovalStep = (unit: Unit, projectId: string) => Promise<void>;
type EmptyingStep = (by: AuditContext, projectId: string) => Promise<void>;

/** Projects with their settings, platforms and origins. */
export interface Projects extends Platforms, Origins {
  /** Throws Failure `project_not_found`. */
  get(reader: Reader, id: string): Promise<Project>;
  /** A project as requests see it: at most half a second old. Throws Failure `project_not_found`. */
  current(id: string): Promise<Project>;
  list(reader: Reader): Promise<Project[]>;
  /** Whether there is any project. */
  any(reader: Reader): Promise<boolean>;
  /** The settings of every project, in one query. */
  settingsOfAll(reader: Reader): Promise<Pick<Project, 'id' | 'settings'>[]>;
  /**
   * A free id for a project of this name: the name in the characters of an id, with a number behind it where a project has or had that. Another
   * process may take it first.
   */
  proposeId(reader: Reader, name: string): Promise<string>;
  /** Throws Failure `project_already_exists`, and `project_id_taken` for the id of a deleted project. */
  create(unit: Unit, input: { readonly id: string; readonly name: string }): Promise<Project>;
  /** Changes the name and single settings; a setting of null goes back to its default. Throws Failure for unknown keys and wrong values. */
  update(
    unit: Unit,
    id: string,
    change: { readonly name?: string; readonly settings?: Readonly<Record<string, unknown>> },
  ): Promise<Project>;
  /** Registers a step for what has to be deleted in the transaction that deletes a project, and has no foreign key to it. */
  beforeRemoval(step: RemovalStep): void;
  /** Registers a step for what has to be deleted earlier, as one transaction could not delete all of it. */
  emptiedBy(step: EmptyingStep): void;
  /** Deletes a project with everything in it. Its entries of the audit log stay, and its id is never given again. */
  remove(by: AuditContext, id: string): Promise<void>;
  /** Whether a project with this id was deleted. */
  wasDeleted(reader: Reader, id: string): Promise<boolean>;
  /** Whether the database was set up with this master key. The first caller stores a mark; later ones only read it. */
  masterKeyFits(db: Pick<Database, 'one' | 'work'>, by: AuditContext): Promise<boolean>;
  /** Whether the database was set up with another master key; stores nothing. */
  hasOtherMasterKey(reader: Reader): Promise<boolean>;
}

type Deps = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>;

/** Creates the service of projects. */
export function createProjects(runtime: Deps, store: ProjectStore): Projects {
  const { db, sql, clock, random, sealing } = runtime;
  const cache = new Lru<{ readonly project: Project; readonly until: number }>(cacheBounds);
  const emptyingSteps: EmptyingStep[] = [];
  const removalSteps: RemovalStep[] = [];

  const find = async (reader: Reader, id: string): Promise<Project | undefined> => {
    const row = await reader.one(store.find({ id }));
    if (row === undefined) return undefined;
    const { settings, ...rest } = projects.decode(row);
    const hostnames = (await reader.all(store.platforms({ projectId: id }))).map(
      (platform) => platforms.decode(platform).hostname,
    );
    return { ...rest, settings: projectSettings.parse(settings), hostnames };
  };
  const orFail = (project: Project | undefined): Project => {
    if (project === undefined) throw new Failure('project_not_found');
    return project;
  };
  const get: Projects['get'] = async (reader, id) => orFail(await find(reader, id));
  /** When a copy is over, whoever asks at that moment is answered by one lookup. */
  const lookup = createLoader<Project>(sql.dialect, async (ids) => {
    const found = await Promise.all(ids.map((id) => find(db, id)));
    return new Map(found.flatMap((project) => (project === undefined ? [] : [[project.id, project]])));
  });

  return {
    ...createPlatforms(runtime, store, (projectId) => cache.delete(projectId)),
    ...createOrigins(runtime, store),
    get,
    current: async (id) => {
      const cached = cache.get(id);
      if (cached !== undefined && cached.until > clock.monotonic()) return cached.project;
      cache.delete(id);
      // Whatever a stranger sends here would reach the database; Postgres refuses a NUL character, for one.
      if (!customId.safeParse(id).success) throw new Failure('project_not_found');
      const project = orFail(await lookup(id));
      const bytes = 8192 + 100 * project.hostnames.length;
      cache.set(id, { project, until: clock.monotonic() + cacheMs }, bytes);
      return project;
    },
    list: async (reader) => {
      const rows = await reader.all(store.list());
      return Promise.all(rows.map((row) => get(reader, projects.decode(row).id)));
    },
    any: async (reader) => (await reader.one(store.first())) !== undefined,
    settingsOfAll: async (reader) =>
      (await reader.all(store.list())).map((row) => {
        const { id, settings } = projects.decode(row);
        return { id, settings: projectSettings.parse(settings) };
      }),
    proposeId: async (reader, name) => {
      const slug = slugOf(name);
      if (slug === '') return random.id();
      const ids = (await reader.all(store.list())).map((row) => projects.decode(row).id);
      const deleted = (await reader.all(store.listDeleted())).map((row) => deletedProjects.decode(row).id);
      const taken = new Set([...ids, ...deleted]);
      let id = slug;
      for (let number = 2; taken.has(id); number += 1) id = `${slug}-${number}`;
      return id;
    },
    create: async (unit, { id, name }) => {
      if (!customId.safeParse(id).success) {
        throw new Failure('general_argument_invalid', {
          message: 'The id of a project consists of A-Z a-z 0-9 . _ -.',
        });
      }
      demandName('project', name);
      const dataKey = sealing.newDataKey(id);
      const row = { id, name, settings: {}, dataKey, createdAt: unit.now, updatedAt: unit.now };
      if ((await unit.one(store.insert(row))) === undefined) throw new Failure('project_already_exists');
      // After the insert: one that has waited for a deletion sees only then what the deletion left.
      if ((await unit.one(store.findDeleted(id))) !== undefined) throw new Failure('project_id_taken');
      unit.record('projectCreated', { resource: `projects/${id}`, payload: { name } });
      return get(unit, id);
    },
    update: async (unit, id, change) => {
      const row = await unit.one(store.find({ id }));
      if (row === undefined) throw new Failure('project_not_found');
      const project = projects.decode(row);
      const settings = mergeSettings(project.settings, change.settings ?? {});
      const name = change.name ?? project.name;
      if (change.name !== undefined) demandName('project', name);
      await unit.run(store.update(id, { name, settings, updatedAt: unit.now }));
      unit.record('projectUpdated', {
        resource: `projects/${id}`,
        payload: { name, settings: Object.keys(change.settings ?? {}) },
      });
      cache.delete(id);
      return get(unit, id);
    },
    beforeRemoval: (step) => {
      removalSteps.push(step);
    },
    emptiedBy: (step) => {
      emptyingSteps.push(step);
    },
    remove: async (by, id) => {
      for (const step of emptyingSteps) await step(by, id);
      await db.work(by, async (unit) => {
        const { name } = await get(unit, id);
        for (const step of removalSteps) await step(unit, id);
        await unit.run(store.remove(id));
        await unit.run(store.keepDeleted(id));
        unit.record('projectDeleted', { resource: `projects/${id}`, payload: { name } });
      });
      cache.delete(id);
    },
    wasDeleted: async (reader, id) => (await reader.one(store.findDeleted(id))) !== undefined,
    masterKeyFits: async (database, by) => {
      const mark = async (unit: Unit) => {
        await unit.run(store.insertFact('key_check', sealing.keyCheck));
        return unit.one(store.fact('key_check'));
      };
      const row = (await database.one(store.fact('key_check'))) ?? (await database.work(by, mark));
      return row?.value === sealing.keyCheck;
    },
    hasOtherMasterKey: async (reader) => {
      const row = await reader.one(store.fact('key_check'));
      return row !== undefined && row.value !== sealing.keyCheck;
    },
  };
}
