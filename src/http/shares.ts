import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/tally.js';

/** Bounds what is under way at once in a process, and for one caller. Taking a place gives the function that gives it back. Throws Failure 503. */
export function createShares({ all, ofCaller }: { readonly all: number; readonly ofCaller: number }) {
  const taken = new Tally();
  return (caller: string): (() => void) => {
    if (taken.all >= all || taken.of(caller) >= ofCaller)
      throw new Failure('general_unavailable', { retryAfter: fileLimits.retrySeconds });
    return taken.take(caller, 1);
  };
}
