import type { Runtime } from '#src/platform/index.js';
import type { Job, Settle } from '#src/platform/scheduler.js';
import { createJobs, type JobDeps } from './service.js';

export type { JobState } from './view.js';

type Deps = JobDeps & Pick<Runtime, 'driver'>;

/** The jobs of all features, and the upkeep of the database itself; `settling` is done once the clock has been set back. */
export function createJobsFeature(runtime: Deps, ofFeatures: readonly Job[], settling: readonly Settle[] = []) {
  // Its own last slot is at most its period old: where the clock was set back further, that slot lies ahead, and the job is due at once.
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
