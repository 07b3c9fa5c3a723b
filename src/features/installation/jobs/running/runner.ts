import { instantOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import { describeError } from './describe-error.js';
import type { Lease, Leases } from './leases.js';
import type { JobMetrics } from './metrics.js';

/** How a run ended: `interrupted` by the end of the process, or `lost` to another one; both leave the slot to be run again. */
export interface Run {
  readonly outcome: 'ok' | 'failed' | 'interrupted' | 'lost';
  readonly durationMs: number;
  /** In words for operators, where it failed. */
  readonly error: string | null;
  /** What was thrown; for the log only. */
  readonly cause?: unknown;
}

/** Runs jobs, with or without a lease, and remembers how that went. */
export function createRunner(
  { clock }: Pick<Runtime, 'clock'>,
  metrics: JobMetrics,
  leases: Leases,
  ending: AbortSignal,
) {
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
    run: async (job: Job): Promise<Run> => counted(job, await attempt(job, ending)),
    /** Runs a job under a lease, which ends with it. An interrupted slot stays due. */
    runUnder: async (lease: Lease, job: Job, slot: string): Promise<Run> => {
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

/** Runs jobs. */
export type Runner = ReturnType<typeof createRunner>;
