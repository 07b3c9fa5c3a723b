import { Failure } from '#src/contract/errors.js';
import { conditionOf } from '#src/platform/db/conditions.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import type { LogFields } from '#src/platform/log.js';

const maxFrames = 5;

/** Why a job failed, in words for operators. The text of an unknown error is left out, as it may hold values of a person. */
export function describeError(error: unknown): string {
  if (error instanceof Failure) return error.message;
  if (error instanceof DatabaseError) {
    const otherwise = `The database ${isPassing(error) ? 'cannot be reached' : 'reports an error'}`;
    return `${conditionOf(error.code)?.message ?? otherwise} (${error.code}).`;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^[A-Z][A-Z0-9_]+$/.test(code)) return `The system reports an error (${code}).`;
  return `This is a defect of svc (${error instanceof Error ? error.name : typeof error}).`;
}

/** What the log may say of it: its class and our own frames. */
export function traceOf(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    error: error instanceof DatabaseError ? error.message : error.name,
    at: frames.slice(0, maxFrames).join(' ').replace(/\s+/g, ' ').trim(),
  };
}

/** Whether the database is away or busy, which passes and of which the log tells by itself. */
export function isPassing(error: unknown): boolean {
  return error instanceof DatabaseError && failureOf(error) !== undefined;
}
