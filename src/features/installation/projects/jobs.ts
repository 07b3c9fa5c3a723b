import { jobLimits } from '#src/contract/limits.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import { byJob } from '#src/platform/db/outbox.js';
import type { Query, Value } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import type { MasterKeys } from '../master-key/index.js';
import type { Projects } from './service.js';
import { type ProjectStore, projects as projectTable } from './store.js';

interface RebindingDeps {
  readonly projects: Projects;
  readonly masterKey: Pick<MasterKeys, 'requireCurrent'>;
  readonly columns: readonly SealedColumn[];
}

/**
 * Reseals values of earlier versions to bind them to their row. Finds unbound values by prefix, so an interrupted job resumes, and values
 * written concurrently are skipped. Finally rewraps the data keys, so that an old unbound value moved into the database later cannot be
 * opened.
 */
export function createRebinding(
  { db, sealing, random }: Pick<Runtime, 'db' | 'sealing' | 'random'>,
  store: ProjectStore,
  { projects, masterKey, columns }: RebindingDeps,
): Job {
  const name = 'sealing.bind';
  const by = () => byJob(name, random.id());

  /** The statement that rebinds a value. Undefined if the value cannot be opened, for example because it was moved from another row. */
  const rebound = async (column: SealedColumn, found: Row) => {
    const [projectId, row, before] = [String(found.project_id), String(found[column.key]), String(found.sealed)];
    const { dataKey } = await projects.current(projectId);
    const aad = { column, row };
    const value = sealing.tryOpen(projectId, dataKey, aad, before);
    if (value === undefined) return undefined;
    return store.rebind(column, { projectId, row, before, after: sealing.seal(projectId, dataKey, aad, value) });
  };
  const bindAll = async (column: SealedColumn, signal: AbortSignal): Promise<void> => {
    let after: readonly Value[] | null = null;
    for (;;) {
      signal.throwIfAborted();
      const rows: Row[] = await db.all(store.unbound(column, after, jobLimits.batch));
      const statements: (Query | undefined)[] = [];
      for (const row of rows) statements.push(await rebound(column, row));
      await db.work(by(), async (unit) => {
        for (const statement of statements) if (statement !== undefined) await unit.run(statement);
      });
      const last = rows.at(-1);
      if (last === undefined || rows.length < jobLimits.batch) return;
      after = column.order.map((one) => last[one] ?? null);
    }
  };
  return {
    name,
    schedule: '0 */5 * * * *',
    summary: 'Binds sealed values of earlier versions to their rows, once',
    lease: 'database',
    run: async (signal) => {
      if ((await db.one(store.unboundKeys())) === undefined) return;
      for (const column of columns) await bindAll(column, signal);
      await db.work(by(), async (unit) => {
        await masterKey.requireCurrent(unit);
        for (const row of await unit.all(store.unboundKeys())) {
          const { id, dataKey } = projectTable.decode(row);
          const bound = sealing.bindDataKey(id, dataKey);
          if (bound !== undefined) await unit.run(store.update(id, { dataKey: bound }));
        }
      });
    },
  };
}
