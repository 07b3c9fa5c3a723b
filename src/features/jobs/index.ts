import type { Platform } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import { createJobs } from './service.js';

export type { JobState } from './view.js';

type Parts = Parameters<typeof createJobs>[0] & Pick<Platform, 'driver'>;

/** The jobs of all features, and the upkeep of the database itself. */
export function createJobsFeature(platform: Parts, ofFeatures: readonly Job[]) {
  const optimize: Job = {
    name: 'database.optimize',
    schedule: '0 30 3 * * *',
    summary: 'Lets SQLite look at its statistics; Postgres does that by itself',
    lease: 'database',
    run: () => platform.driver.optimize(),
  };
  return { jobs: createJobs(platform, [...ofFeatures, optimize]) };
}
