import { idempotencyLimits } from '#src/contract/limits.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { createIdempotency } from './service.js';
import { createIdempotencyStore } from './store.js';

export type { Idempotency } from './service.js';

/** Builds support for the `Idempotency-Key` header, and the job that deletes expired responses. */
export function createIdempotencyFeature(runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>) {
  const { db, clock, random } = runtime;
  const store = createIdempotencyStore(runtime.sql);
  const prune: Job = {
    name: 'idempotency.prune',
    schedule: '0 5 * * * *',
    summary: `Deletes the answers to requests with an Idempotency-Key that are older than ${idempotencyLimits.hours} hours`,
    lease: 'database',
    run: async (signal) => {
      const by = { projectId: null, actor: { kind: 'job', id: 'idempotency.prune' }, requestId: random.id() };
      const before = clock.now() - idempotencyLimits.hours * 3_600_000;
      await pruneInBatches(db, by, signal, (limit) => store.prune(before, limit));
    },
  };
  return { idempotency: createIdempotency(runtime, store), jobs: [prune] };
}
