// Processes that run jobs of a test over one database.
import { setTimeout as sleep } from 'node:timers/promises';
import { createJobsFeature } from '#src/features/installation/jobs/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { createMetrics } from '#src/platform/runtime/metrics.js';
import type { TestAppliance } from '../harness/appliance.js';

/** A job due once a day, that tests move to by the clock. */
export function aJob(name: string, run: Job['run']): Job {
  return { name, schedule: '0 0 4 * * *', summary: 'A job of a test', lease: 'database', run };
}

/** The jobs service of a process, with jobs of the test. */
export function jobsOf({ appliance }: TestAppliance, ...jobs: readonly Job[]) {
  // The jobs of the appliance have registered their measurements already.
  return createJobsFeature({ ...appliance.runtime, metrics: createMetrics() }, jobs).jobs;
}

/** A job that runs until it is let go, and how often it was begun. */
export function aLongJob(name: string) {
  let begun = 0;
  let letGo: () => void = () => {};
  const end = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const job = aJob(name, () => {
    begun += 1;
    return end;
  });
  return { job, letGo: () => letGo(), begun: () => begun };
}

/** Waits until something holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 1000) throw new Error('it never came true');
    await sleep(20);
  }
}
