import { setTimeout as sleep } from 'node:timers/promises';
import { explain } from '../terminal/exit.js';
import { type DoctorFinding, found } from './finding.js';

/** A read-only check of an installation. */
export interface Check<C> {
  /** Subject of the check, for messages. */
  readonly name: string;
  /** The command that does the same without a time limit. */
  readonly alone?: string;
  run(context: C): readonly DoctorFinding[] | Promise<readonly DoctorFinding[]>;
}

/** The number of checks, and their findings. */
export interface Report {
  readonly checks: number;
  readonly findings: readonly DoctorFinding[];
}

/** Time limit of a check. */
const checkMs = 5000;

/** Runs checks concurrently. A check that fails or times out is reported as a finding. */
export async function runChecks<C>(checks: readonly Check<C>[], context: C): Promise<Report> {
  const findings = await Promise.all(checks.map((check) => runCheck(check, context)));
  return { checks: checks.length, findings: findings.flat() };
}

async function runCheck<C>(check: Check<C>, context: C): Promise<readonly DoctorFinding[]> {
  const { name, alone } = check;
  const ended = new AbortController();
  const late = sleep(checkMs, undefined, { signal: ended.signal }).then(
    () => [found('check_failed', `The check of ${name} took longer than ${checkMs / 1000} s.`, alone ?? 'svc doctor')],
    () => [],
  );
  try {
    // Called inside a promise, because a check may throw synchronously.
    return await Promise.race([Promise.resolve().then(() => check.run(context)), late]);
  } catch (error) {
    const { message, fix } = explain(error);
    return [found('check_failed', `The check of ${name} could not be made. ${message}`, alone ?? fix)];
  } finally {
    ended.abort();
  }
}
