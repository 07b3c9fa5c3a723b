import { Failure } from '#src/contract/errors.js';
import { conditionOf } from '#src/platform/db/conditions.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import { JobError } from '#src/platform/jobs/scheduler.js';
import type { LogFields } from '#src/platform/runtime/log-line.js';

const maxFrames = 5;

/** Describes a job's error for operators. Omits the text of unknown errors, as it may contain personal data. */
export function describeError(error: unknown): string {
  if (error instanceof Failure || error instanceof JobError) return error.message;
  if (error instanceof DatabaseError) {
    const otherwise = `The database ${isPassing(error) ? 'cannot be reached' : 'reports an error'}`;
    return `${conditionOf(error.code)?.message ?? otherwise} (${error.code}).`;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^[A-Z][A-Z0-9_]+$/.test(code)) return `The system reports an error (${code}).`;
  return `This is a defect of svc (${error instanceof Error ? error.name : typeof error}).`;
}

/** Fields of an error that may be logged: its message for operators, or its class and a few stack frames. */
export function traceOf(error: unknown): LogFields {
  if (error instanceof JobError) return { reason: error.message };
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    error: error instanceof DatabaseError ? error.message : error.name,
    at: frames.slice(0, maxFrames).join(' ').replace(/\s+/g, ' ').trim(),
  };
}

/** True if the database is unavailable or busy. That is temporary and logged elsewhere. */
export function isPassing(error: unknown): boolean {
  return error instanceof DatabaseError && failureOf(error) !== undefined;
}
