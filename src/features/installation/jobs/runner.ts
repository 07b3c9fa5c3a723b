import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { describeError } from './describe-error.js';
import type { JobLease, Leases } from './leases.js';
import type { JobMetrics } from './metrics.js';

/** Result of a run. `interrupted`: the process ended. `lost`: another process claimed the job. In both cases the slot stays due. */
export interface Run {
  readonly outcome: 'ok' | 'failed' | 'interrupted' | 'lost';
  readonly durationMs: number;
  /** Message for operators if the run failed. */
  readonly error: string | null;
  /** The thrown error; for the log only. */
  readonly cause?: unknown;
}

/** Runs jobs. */
export interface Runner {
  run(job: Job): Promise<Run>;
  /** Runs a job and releases its lease. An interrupted slot stays due. */
  runUnder(lease: JobLease, job: Job, slot: string): Promise<Run>;
}

/** Runs jobs, with or without a lease, and stores the results. */
export function createRunner(
  { clock }: Pick<Runtime, 'clock'>,
  metrics: JobMetrics,
  leases: Leases,
  ending: AbortSignal,
): Runner {
  const attempt = async (job: Job, signal: AbortSignal): Promise<Run> => {
    const started = clock.monotonic();
    const ended = () => Math.round(clock.monotonic() - started);
    try {
      await job.run(signal);
      return { outcome: 'ok', durationMs: ended(), error: null };
    } catch (cause) {
      if (signal.aborted) return { outcome: 'interrupted', durationMs: ended(), error: null };
      return { outcome: 'failed', durationMs: ended(), error: describeError(cause), cause };
    }
  };
  const counted = (job: Job, run: Run): Run => {
    metrics.run(job.name, run.outcome, run.durationMs / 1000);
    return run;
  };

  return {
    run: async (job) => counted(job, await attempt(job, ending)),
    runUnder: async (lease, job, slot) => {
      const lost = new AbortController();
      const stopKeeping = leases.keep(lease, () => lost.abort());
      const run = await attempt(job, AbortSignal.any([ending, lost.signal])).finally(stopKeeping);
      const now = instantOf(clock.now());
      const released = await leases.release(
        lease,
        run.outcome === 'interrupted'
          ? {}
          : {
              lastSlot: slot,
              lastFinishedAt: now,
              lastDurationMs: run.durationMs,
              lastError: run.error,
              ...(run.outcome === 'ok' ? { lastSuccessAt: now } : {}),
            },
      );
      return counted(job, released ? run : { ...run, outcome: 'lost' });
    },
  };
}
