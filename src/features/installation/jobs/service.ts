import { setTimeout as sleep } from 'node:timers/promises';
import { jobLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import { createExecutor, type Run } from './executor.js';
import { createLeases } from './leases.js';
import { createJobMetrics } from './metrics.js';
import type { JobRow } from './store.js';
import { type JobState, toJobState } from './view.js';

/** Schedule on which every process checks for due jobs: after a start, a missed tick, or the death of a lease holder. */
const watchSchedule = '*/5 * * * * *';

/** Dependencies of the job service. */
export type JobDeps = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'log' | 'metrics' | 'scheduler'>;

/** The jobs of all features. */
interface Jobs {
  readonly names: readonly string[];
  /** Every job with its last run. */
  list(): Promise<JobState[]>;
  /** Jobs whose process died while it held the lease, and that no process has claimed since. */
  abandoned(): Promise<string[]>;
  /** Runs a job if it is due and no other process is running it. If this process is, waits for that run. Never rejects. */
  tick(name: string): Promise<void>;
  /** Runs every due job. Missed slots run once, including those of a process that died. */
  sweep(): Promise<void>;
  /** Runs a job now, regardless of its schedule; undefined if a process is already running it. Throws DatabaseError. */
  run(name: string): Promise<Run | undefined>;
  /** Inserts missing rows, starts the scheduler, and catches up on missed slots. */
  start(): Promise<void>;
  /** Stops the scheduler, aborts running jobs and waits for them, with a timeout. */
  stop(): Promise<void>;
}

/** Runs jobs. The scheduler only ticks; leases in the database decide which process runs a job. */
export function createJobs(runtime: JobDeps, jobs: readonly Job[]): Jobs {
  const { clock, log, scheduler } = runtime;
  const metrics = createJobMetrics(runtime);
  const leases = createLeases(runtime);
  const ending = new AbortController();
  const executor = createExecutor(runtime, jobs, { metrics, leases, ending: ending.signal });
  const { tick, run } = executor;

  runtime.metrics.beforeRender(async () => {
    const rows = await leases.rows().catch(() => new Map<string, JobRow>());
    metrics.state(
      [...rows.values()]
        .filter((row) => executor.has(row.name))
        .map((row) => ({
          name: row.name,
          secondsSinceSuccess: Math.max(0, clock.now() - millisecondsOf(row.lastSuccessAt ?? row.createdAt)) / 1000,
          isHeld: leases.isHeld(row),
        })),
    );
  });
  const sweep = async (): Promise<void> => {
    await Promise.all((await executor.due()).map(tick));
  };
  return {
    names: jobs.map(({ name }) => name),
    list: async () => {
      const rows = await leases.rows();
      return executor.all().map(({ job, timetable }) => {
        const row = rows.get(job.name);
        return toJobState(job, row, row !== undefined && leases.isHeld(row), instantOf(timetable().next(clock.now())));
      });
    },
    abandoned: async () => {
      const rows = [...(await leases.rows()).values()].filter((row) => executor.has(row.name));
      return rows.filter((row) => row.owner !== null && !leases.isHeld(row)).map(({ name }) => name);
    },
    tick,
    sweep,
    run,
    start: async () => {
      const missed = await executor.due();
      const watch = { name: 'watch', schedule: watchSchedule, run: async () => void sweep() };
      scheduler.start([watch, ...jobs.map(({ name, schedule }) => ({ name, schedule, run: () => tick(name) }))]);
      for (const name of missed) void tick(name);
    },
    stop: async () => {
      scheduler.stop();
      ending.abort();
      const patience = new AbortController();
      const late = sleep(jobLimits.endSeconds * 1000, 'late', { signal: patience.signal }).catch(() => 'ended');
      const all = executor.idle().then(() => 'ended');
      if ((await Promise.race([all, late])) === 'late')
        log.warn('cron.end.gave-up', { jobs: executor.busy().join(',') });
      patience.abort();
    },
  };
}
