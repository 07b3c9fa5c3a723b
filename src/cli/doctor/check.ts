import { setTimeout as sleep } from 'node:timers/promises';
import { explain } from '../exit.js';
import { type Finding, found } from './finding.js';

/** A check of an installation. It changes nothing. */
export interface Check<C> {
  /** What it looks at, in words. */
  readonly name: string;
  /** The command that does the same without a time limit. */
  readonly alone?: string;
  run(context: C): readonly Finding[] | Promise<readonly Finding[]>;
}

/** How many checks were made, and what they found. */
export interface Report {
  readonly checks: number;
  readonly findings: readonly Finding[];
}

/** How long a check may take. */
const checkMs = 5000;

/** Makes checks at the same time. One that fails or takes too long is a finding itself. */
export async function runChecks<C>(checks: readonly Check<C>[], context: C): Promise<Report> {
  const findings = await Promise.all(checks.map((check) => runCheck(check, context)));
  return { checks: checks.length, findings: findings.flat() };
}

async function runCheck<C>(check: Check<C>, context: C): Promise<readonly Finding[]> {
  const { name, alone } = check;
  const ended = new AbortController();
  const late = sleep(checkMs, undefined, { signal: ended.signal }).then(
    () => [found('check_failed', `The check of ${name} took longer than ${checkMs / 1000} s.`, alone ?? 'svc doctor')],
    () => [],
  );
  try {
    // Here, and not as it is called: a check may throw before it returns a promise.
    return await Promise.race([Promise.resolve().then(() => check.run(context)), late]);
  } catch (error) {
    const { message, fix } = explain(error);
    return [found('check_failed', `The check of ${name} could not be made. ${message}`, alone ?? fix)];
  } finally {
    ended.abort();
  }
}
