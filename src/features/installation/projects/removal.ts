import { Failure } from '#src/contract/errors.js';
import { type AuditContext, byJob } from '#src/platform/db/outbox.js';
import { tablesOfProjects } from '#src/platform/db/project-rows.js';
import { createSteps, type StepReport, type Steps } from '#src/platform/db/steps.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { type ProjectStore, projectRemovals, projects } from './store.js';

/** A process at work on a deletion notes so every few seconds. The job continues deletions without a note for longer than this. */
const restMs = { noted: 5000, interrupted: 30_000 } as const;

/** Tables that the steps of other features empty, because more belongs to their rows. */
const withOwnSteps: ReadonlySet<string> = new Set(['databases', 'collections', 'buckets', 'files', 'project_removals']);

type RemovalStep = (unit: Unit, projectId: string) => Promise<void>;
type EmptyingStep = (by: AuditContext, projectId: string, steps: Steps) => Promise<void>;

interface RemovalOptions {
  readonly report?: StepReport;
  readonly signal?: AbortSignal;
}

/** Deletion of projects: one unit hides the project, steps remove its rows, and its own row goes last. */
export interface ProjectRemoval {
  /** Registers a step that deletes data without a foreign key to the project, in the transaction that deletes the row of the project. */
  beforeRemoval(step: RemovalStep): void;
  /** Registers a step that runs before that transaction, for data too large to delete in one transaction. */
  emptiedBy(step: EmptyingStep): void;
  /** The name of a project, also if its deletion was interrupted. Throws Failure `project_not_found`. */
  nameToRemove(reader: Reader, id: string): Promise<string>;
  /**
   * Deletes a project with all its data, or continues an interrupted deletion. Its audit entries stay, and its id is never reused. Throws
   * Failure `project_not_found`.
   */
  remove(by: AuditContext, id: string, options?: RemovalOptions): Promise<void>;
  /** Continues interrupted deletions. */
  readonly removalJob: Job;
}

type RemovalRuntime = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random'>;

interface Deps extends RemovalRuntime {
  readonly store: ProjectStore;
  readonly forget: (projectId: string) => void;
  readonly emptyingSteps: EmptyingStep[];
  readonly removalSteps: RemovalStep[];
}

/** Creates the deletion of projects. `forget` removes a project from the cache. */
export function createProjectRemoval(
  { db, sql, clock, random }: RemovalRuntime,
  store: ProjectStore,
  forget: (projectId: string) => void,
): ProjectRemoval {
  const deps: Deps = { db, sql, clock, random, store, forget, emptyingSteps: [], removalSteps: [] };
  const name = 'projects.remove';
  return {
    beforeRemoval: (step) => void deps.removalSteps.push(step),
    emptiedBy: (step) => void deps.emptyingSteps.push(step),
    ...bind(deps, { nameToRemove, remove }),
    removalJob: {
      name,
      schedule: '40 * * * * *',
      summary: 'Continues deletions of projects that were interrupted',
      lease: 'database',
      run: async (signal) => {
        const now = clock.now();
        const rows = await db.all(store.interruptedRemovals(instantOf(now - restMs.interrupted), instantOf(now)));
        for (const row of rows) {
          const { projectId } = projectRemovals.decode(row);
          await removeRows(deps, { ...byJob(name, random.id()), projectId }, { signal });
        }
      },
    },
  };
}

async function nameToRemove({ store }: Deps, reader: Reader, id: string): Promise<string> {
  const row = (await reader.one(store.find({ id }))) ?? (await reader.one(store.findRemoved(id)));
  if (row === undefined) throw new Failure('project_not_found');
  return projects.decode(row).name;
}

async function remove(deps: Deps, by: AuditContext, id: string, options: RemovalOptions = {}): Promise<void> {
  const { db, store, forget } = deps;
  await db.work(by, async (unit) => {
    await unit.one(store.hold(id));
    const name = await nameToRemove(deps, unit, id);
    if ((await unit.run(store.beginRemoval(id, unit.now))) === 0) return;
    await unit.run(store.keepDeleted(id));
    unit.record('projectDeleted', { resource: `projects/${id}`, payload: { name } });
  });
  forget(id);
  await removeRows(deps, { ...by, projectId: id }, options);
}

/** Removes the rows of a project whose deletion has begun. Requests that began before may still write, so the tables are emptied again. */
async function removeRows(deps: Deps, by: AuditContext & { projectId: string | null }, options: RemovalOptions) {
  const { db, sql, clock, store, emptyingSteps, removalSteps } = deps;
  const id = by.projectId ?? '';
  let notedAt = Number.NEGATIVE_INFINITY;
  const note = async () => {
    if (clock.monotonic() - notedAt < restMs.noted) return;
    notedAt = clock.monotonic();
    await db.work(by, async (unit) => void (await unit.run(store.noteRemoval(id, unit.now))));
  };
  await note();
  const steps = createSteps({ ...options, afterStep: note });
  const tables = (await tablesOfProjects(db, sql.dialect)).filter((table) => !withOwnSteps.has(table));
  for (const step of emptyingSteps) await step(by, id, steps);
  for (const table of tables) await steps.run(table, (limit) => removeSome(deps, by, table, limit));
  await db.work(by, async (unit) => {
    for (const step of removalSteps) await step(unit, id);
    await unit.run(store.remove(id));
  });
}

function removeSome({ db, store }: Deps, by: AuditContext, table: string, limit: number): Promise<number> {
  return db.work(by, (unit) => unit.run(store.removeSome(table, by.projectId ?? '', limit)));
}
