import type { Runtime } from '#src/platform/index.js';
import type { Job, Settle } from '#src/platform/jobs/scheduler.js';
import { createJobs, type JobDeps } from './service.js';

export type { JobState } from './view.js';

type Deps = JobDeps & Pick<Runtime, 'driver'>;

/** Builds the jobs of all features and of the database. `settling` corrects data after the clock was set back. */
export function createJobsFeature(runtime: Deps, ofFeatures: readonly Job[], settling: readonly Settle[] = []) {
  // If the clock was set back by more than this period, the job's last slot is in the future, which makes the job due at once.
  const settle: Job = {
    name: 'clock.settle',
    schedule: '45 */5 * * * *',
    summary: 'Puts right what waits for a time that lies too far ahead, as the clock was set back',
    lease: 'database',
    run: async (signal) => {
      for (const one of settling) await one(signal);
    },
  };
  const optimize: Job = {
    name: 'database.optimize',
    schedule: '0 30 3 * * *',
    summary: 'Lets SQLite look at its statistics; Postgres does that by itself',
    lease: 'database',
    run: () => runtime.driver.optimize(),
  };
  return { jobs: createJobs(runtime, [...ofFeatures, settle, optimize]) };
}
