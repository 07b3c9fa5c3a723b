import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/admission/tally.js';

/**
 * A semaphore with a limit for the process and one per caller. Acquiring returns the release function. Throws Failure 503 if no slot is
 * free.
 */
export function createCallerSemaphore({ all, ofCaller }: { readonly all: number; readonly ofCaller: number }) {
  const taken = new Tally();
  return (caller: string): (() => void) => {
    if (taken.all >= all || taken.of(caller) >= ofCaller)
      throw new Failure('general_unavailable', { retryAfter: fileLimits.retrySeconds });
    return taken.take(caller, 1);
  };
}
