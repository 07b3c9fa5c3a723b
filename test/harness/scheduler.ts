import type { Scheduler } from '#src/platform/jobs/scheduler.js';

let processes = 0;

/** A scheduler that never ticks, so that jobs run when a test says so. Each stands for a process of its own. */
export function createStillScheduler(): Scheduler {
  processes += 1;
  return { owner: `process-${processes}`, start: () => {}, stop: () => {} };
}
