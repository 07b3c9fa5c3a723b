import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import type { LimitStore } from './store.js';

/** Milliseconds to keep a counter after it is back to zero, for processes with different clocks. */
const graceMs = 3_600_000;

/** Deletes counters that are back to zero. They are equivalent to missing ones. */
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
