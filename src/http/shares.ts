import { Failure } from '#src/contract/errors.js';
import { fileLimits } from '#src/contract/limits.js';

/** Bounds what is under way at once in a process, and for one caller. Taking a place gives the function that gives it back. Throws Failure 503. */
export function createShares({ all, ofCaller }: { readonly all: number; readonly ofCaller: number }) {
  const taken = new Map<string, number>();
  let count = 0;
  return (caller: string): (() => void) => {
    const mine = taken.get(caller) ?? 0;
    if (count >= all || mine >= ofCaller)
      throw new Failure('general_unavailable', { retryAfter: fileLimits.retrySeconds });
    taken.set(caller, mine + 1);
    count += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      count -= 1;
      const left = (taken.get(caller) ?? 1) - 1;
      if (left > 0) taken.set(caller, left);
      else taken.delete(caller);
    };
  };
}
