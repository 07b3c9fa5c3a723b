import { Failure } from '#src/contract/errors.js';
import { previewLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/admission/tally.js';

/**
 * Limits the bytes of previews in memory, in total and per caller. A caller's first preview only counts towards the total; small ones do
 * not count.
 * Returns a function that acquires bytes; call its result to release them. Throws Failure `general_unavailable`.
 */
export function createMemory(): (caller: string, bytes: number) => () => void {
  const { smallBytes, heldBytes, heldBytesOfCaller, heldRetrySeconds } = previewLimits;
  const held = new Tally();
  return (caller, bytes) => {
    if (bytes <= smallBytes) return () => {};
    const mine = held.of(caller);
    if (held.all + bytes > heldBytes || (mine > 0 && mine + bytes > heldBytesOfCaller))
      throw new Failure('general_unavailable', { retryAfter: heldRetrySeconds, cause: 'previews in memory' });
    return held.take(caller, bytes);
  };
}
