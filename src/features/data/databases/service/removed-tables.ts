import type { AuditContext } from '#src/platform/db/outbox.js';
import { createSteps, type Steps } from '#src/platform/db/steps.js';
import type { TableRemoval } from '#src/platform/db/table-removal.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';

/** The removal of large tables that were set aside. */
interface RemovedTables {
  /** Removes the rows of all tables that were set aside, in several transactions, and drops the tables. */
  remove(by: AuditContext, steps: Steps): Promise<void>;
  readonly job: Job;
}

/** Creates the removal of tables of deleted collections, indexes and relationships. */
export function createRemovedTables(
  { db, random }: Pick<Runtime, 'db' | 'random'>,
  removal: TableRemoval,
): RemovedTables {
  const name = 'collections.remove';
  const remove: RemovedTables['remove'] = async (by, steps) => {
    for (const table of await removal.setAside(db))
      await steps.run('documents', (limit) => db.work(by, (unit) => removal.step(unit, table, limit)));
  };
  return {
    remove,
    job: {
      name,
      schedule: '*/20 * * * * *',
      summary: 'Removes the rows of large collections that were deleted',
      lease: 'database',
      run: (signal) =>
        remove({ projectId: null, actor: { kind: 'job', id: name }, requestId: random.id() }, createSteps({ signal })),
    },
  };
}
