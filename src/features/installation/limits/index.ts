import { SharedLimiter } from '#src/platform/admission/shared-limiter.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { createPruning } from './jobs.js';
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

/** Builds the limits service, which counts calls of the security classes. */
export function createLimits(runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'config'>): Limits {
  const store = createLimitStore(runtime.sql);
  const rates = createRates(runtime);
  return {
    ...createCounting(runtime, store, rates),
    ...createOverview(runtime, store, rates),
    jobs: [createPruning(runtime, store)],
    memory: new SharedLimiter(() => runtime.clock.monotonic()),
  };
}
