import { setTimeout as sleep } from 'node:timers/promises';
import { jobLimits } from '#src/contract/limits.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import { createExecutor } from './running/executor.js';
import { createLeases } from './running/leases.js';
import { createJobMetrics } from './running/metrics.js';
import { createRunner, type Run } from './running/runner.js';
import type { JobRow } from './store.js';
import { type JobState, toJobState } from './view.js';

/** How often every process looks for jobs that are due: after a start, after a missed tick, after the death of a holder. */
const watchSchedule = '*/5 * * * * *';

/** What jobs need. */
export type JobDeps = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'log' | 'metrics' | 'scheduler'>;

/** The jobs of all features. */
interface Jobs {
  readonly names: readonly string[];
  /** Every job, and how its last run went. */
  list(): Promise<JobState[]>;
  /** Jobs whose process was gone before it gave the lease back, and which no other has taken over. */
  abandoned(): Promise<string[]>;
  /** Runs a job if it is due and no other process is at it, and waits where this process is; never rejects. */
  tick(name: string): Promise<void>;
  /** Runs every job that is due: missed slots once, and what a holder that is gone has left. */
  sweep(): Promise<void>;
  /** Runs a job now, whatever its schedule says; undefined where another process is at it. Throws DatabaseError. */
  run(name: string): Promise<Run | undefined>;
  /** Ticks from now on, after the jobs have their rows; what was missed is caught up. */
  start(): Promise<void>;
  /** Ticks no more, tells the jobs to end, and waits for them, but not for ever. */
  stop(): Promise<void>;
}

/** Runs the jobs: the scheduler only ticks, the database decides which process runs what. */
export function createJobs(runtime: JobDeps, jobs: readonly Job[]): Jobs {
  const { clock, log, scheduler } = runtime;
  const metrics = createJobMetrics(runtime);
  const leases = createLeases(runtime);
  const ending = new AbortController();
  const runner = createRunner(runtime, metrics, leases, ending.signal);
  const executor = createExecutor(runtime, jobs, leases, runner, ending.signal);
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
