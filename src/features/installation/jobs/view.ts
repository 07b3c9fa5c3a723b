import type { Job } from '#src/platform/scheduler.js';
import type { JobRow } from './store.js';

/** A job as operators see it. What every process runs by itself has no last run of the whole installation. */
export interface JobState extends Pick<Job, 'name' | 'schedule' | 'summary' | 'lease'> {
  readonly lastRun: string | null;
  readonly lastSuccess: string | null;
  readonly lastDurationMs: number | null;
  readonly lastError: string | null;
  readonly nextRun: string;
  /** The process that runs it at the moment, and until when it may. */
  readonly owner: string | null;
  readonly leaseUntil: string | null;
}

/** Prints a job. */
export function toJobState(job: Job, row: JobRow | undefined, isHeld: boolean, nextRun: string): JobState {
  return {
    name: job.name,
    schedule: job.schedule,
    summary: job.summary,
    lease: job.lease,
    lastRun: row?.lastStartedAt ?? null,
    lastSuccess: row?.lastSuccessAt ?? null,
    lastDurationMs: row?.lastDurationMs ?? null,
    lastError: row?.lastError ?? null,
    nextRun,
    owner: isHeld ? (row?.owner ?? null) : null,
    leaseUntil: isHeld ? (row?.leaseUntil ?? null) : null,
  };
}
