import { jobLimits } from '#src/contract/limits.js';
import type { Platform } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import { createLimitStore } from './store.js';

/** A counter that is back to zero is kept this much longer, for processes whose clocks differ. */
const keptMs = 3_600_000;

/** Deletes counters that are back to zero: nothing tells them from those that never were. */
export function createPruning({ db, sql, clock, random }: Pick<Platform, 'db' | 'sql' | 'clock' | 'random'>): Job {
  const store = createLimitStore(sql);
  return {
    name: 'limits.prune',
    schedule: '0 10 * * * *',
    summary: 'Deletes rate-limit counters that are back to zero',
    lease: 'database',
    run: async (signal) => {
      const by = { projectId: null, actor: { kind: 'job', id: 'limits.prune' }, requestId: random.id() };
      const before = clock.now() - keptMs;
      let removed: number;
      do {
        signal.throwIfAborted();
        removed = await db.work(by, (unit) => unit.run(store.prune(before, jobLimits.batch)));
      } while (removed === jobLimits.batch);
    },
  };
}
