import type { Runtime } from '#src/platform/index.js';

/** The state of a job across all processes. */
interface MeasuredJob {
  readonly name: string;
  readonly secondsSinceSuccess: number;
  readonly isHeld: boolean;
}

/** Metrics of jobs. */
export interface JobMetrics {
  run(name: string, outcome: string, seconds: number): void;
  state(jobs: readonly MeasuredJob[]): void;
}

/** Metrics of jobs. */
export function createJobMetrics({ metrics }: Pick<Runtime, 'metrics'>): JobMetrics {
  const labelNames = ['name'] as const;
  const runs = metrics.counter({
    name: 'svc_cron_runs_total',
    help: 'Runs of jobs by this process',
    labelNames: ['name', 'outcome'],
  });
  const time = metrics.histogram({
    name: 'svc_cron_run_duration_seconds',
    help: 'Time that runs of jobs by this process took',
    labelNames,
    buckets: [0.01, 0.1, 1, 10, 60, 600],
  });
  const success = metrics.gauge({
    name: 'svc_cron_seconds_since_success',
    help: 'Time since the last success of a job in any process, or since the job is known',
    labelNames,
  });
  const leases = metrics.gauge({
    name: 'svc_cron_lease_held',
    help: '1 while some process runs the job',
    labelNames,
  });
  return {
    run: (name, outcome, seconds) => {
      runs.inc({ name, outcome });
      time.observe({ name }, seconds);
    },
    state: (jobs) => {
      success.reset();
      leases.reset();
      for (const { name, secondsSinceSuccess, isHeld } of jobs) {
        success.set({ name }, secondsSinceSuccess);
        leases.set({ name }, isHeld ? 1 : 0);
      }
    },
  };
}
