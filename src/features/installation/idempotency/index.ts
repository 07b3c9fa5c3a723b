import { idempotencyLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { createPruningJob } from '#src/platform/jobs/pruning.js';
import { createIdempotency } from './service.js';
import { createIdempotencyStore } from './store.js';

export type { Idempotency } from './service.js';

/** Builds support for the `Idempotency-Key` header, and the job that deletes expired responses. */
export function createIdempotencyFeature(runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>) {
  const store = createIdempotencyStore(runtime.sql);
  const pruning = {
    name: 'idempotency.prune',
    schedule: '0 5 * * * *',
    summary: `Deletes the answers to requests with an Idempotency-Key that are older than ${idempotencyLimits.hours} hours`,
  };
  const prune = createPruningJob(runtime, pruning, (limit) =>
    store.prune(runtime.clock.now() - idempotencyLimits.hours * 3_600_000, limit),
  );
  return { idempotency: createIdempotency(runtime, store), jobs: [prune] };
}
