import { scanLimits } from '#src/contract/limits.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { ScanCounts } from './counts.js';
import type { ScanStore } from './store.js';

/** Creates the jobs that write the counts of this process and delete old ones. */
export function createScanJobs(
  { db, clock, random }: Pick<Runtime, 'db' | 'clock' | 'random'>,
  store: ScanStore,
  counts: ScanCounts,
): readonly Job[] {
  const contextOf = (id: string) => ({ projectId: null, actor: { kind: 'job', id }, requestId: random.id() });
  const save = async (): Promise<void> => {
    const rows = counts.take();
    if (rows.length === 0) return;
    const numbers = [...new Set(rows.map(({ collection }) => collection))];
    try {
      await db.work(contextOf('scans.save'), async (unit) => {
        await unit.run(store.merge(rows));
        await unit.run(store.trim(numbers, scanLimits.shapesOfCollection));
      });
    } catch (error) {
      counts.restore(rows);
      throw error;
    }
  };
  const prune: Job['run'] = async (signal) => {
    const before = instantOf(clock.now() - scanLimits.retentionDays * 86_400_000);
    await pruneInBatches(db, contextOf('scans.prune'), signal, (limit) => store.prune(before, limit));
  };
  return [
    {
      name: 'scans.save',
      schedule: '*/10 * * * * *',
      summary: 'Writes the slow lists that this process has counted',
      lease: 'process',
      run: save,
    },
    {
      name: 'scans.prune',
      schedule: '0 50 3 * * *',
      summary: `Deletes slow lists that did not come again for ${scanLimits.retentionDays} days`,
      lease: 'database',
      run: prune,
    },
  ];
}
