import type { Job } from '#src/platform/jobs/scheduler.js';
import type { JobRow } from './store.js';

/** A job as operators see it. Jobs without a database lease run in every process, so they have no last run. */
export interface JobState extends Pick<Job, 'name' | 'schedule' | 'summary' | 'lease'> {
  readonly lastRun: string | null;
  readonly lastSuccess: string | null;
  readonly lastDurationMs: number | null;
  readonly lastError: string | null;
  readonly nextRun: string;
  /** The process that currently runs the job, and the end of its lease. */
  readonly owner: string | null;
  readonly leaseUntil: string | null;
}

/** Converts a job for operators. */
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
