import { Failure } from '#src/contract/errors.js';
import { previewLimits } from '#src/contract/limits.js';
import { FairSemaphore } from '#src/platform/admission/fair-semaphore.js';

/**
 * Limits the bytes of previews in memory, in total and per caller. A caller's first preview only counts towards the total; small ones do
 * not count. Returns a function that acquires bytes; call its result to release them. Throws Failure `general_unavailable`.
 */
export function createMemory(): (caller: string, bytes: number) => () => void {
  const { smallBytes, heldBytes: all, heldBytesOfCaller: ofOwner, heldRetrySeconds: retryAfter } = previewLimits;
  const refuse = () => new Failure('general_unavailable', { retryAfter, cause: 'previews in memory' });
  const held = new FairSemaphore({ all, ofOwner, refuse });
  return (caller, bytes) => {
    if (bytes <= smallBytes) return () => {};
    if (!held.tryTake(caller, bytes)) throw refuse();
    return () => held.give(caller, bytes);
  };
}
