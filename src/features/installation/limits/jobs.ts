import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import type { LimitStore } from './store.js';

/** A counter that is back to zero is kept this much longer, for processes whose clocks differ. */
const graceMs = 3_600_000;

/** Deletes counters that are back to zero: nothing tells them from those that never were. */
export function createPruning({ db, clock, random }: Pick<Runtime, 'db' | 'clock' | 'random'>, store: LimitStore): Job {
  return {
    name: 'limits.prune',
    schedule: '0 10 * * * *',
    summary: 'Deletes rate-limit counters that are back to zero',
    lease: 'database',
    run: async (signal) => {
      const by = { projectId: null, actor: { kind: 'job', id: 'limits.prune' }, requestId: random.id() };
      const before = clock.now() - graceMs;
      await pruneInBatches(db, by, signal, (limit) => store.prune(before, limit));
    },
  };
}
