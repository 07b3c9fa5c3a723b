import { SharedLimiter } from '#src/platform/admission/shared-limiter.js';
import type { Runtime } from '#src/platform/index.js';
import { createPruningJob } from '#src/platform/jobs/pruning.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { createOverview, type LimitOverview } from './overview.js';
import { createRates } from './rates.js';
import { createCounting, type LimitCounting } from './service.js';
import { createLimitStore } from './store.js';

export type { LimitCounter, LimitSelection } from './overview.js';
export { accountExistsKey, invitedKey, keysOfUser, proofKey, recoveryKey } from './rates.js';

/** Rate limits: counting, overview for operators, and cleanup. */
export interface Limits extends LimitCounting, LimitOverview {
  readonly jobs: readonly Job[];
  /** Counts the classes that are not counted in the database. */
  readonly memory: SharedLimiter;
}

/** Milliseconds to keep a counter after it is back to zero, for processes with different clocks. */
const graceMs = 3_600_000;

const pruning = {
  name: 'limits.prune',
  schedule: '0 10 * * * *',
  summary: 'Deletes rate-limit counters that are back to zero',
};

/** Builds the limits service, which counts calls of the security classes. */
export function createLimits(runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'config'>): Limits {
  const { clock } = runtime;
  const store = createLimitStore(runtime.sql);
  const rates = createRates(runtime);
  return {
    ...createCounting(runtime, store, rates),
    ...createOverview(runtime, store, rates),
    jobs: [createPruningJob(runtime, pruning, (limit) => store.prune(clock.now() - graceMs, limit))],
    memory: new SharedLimiter(() => clock.monotonic()),
  };
}
