import { Failure } from '#src/contract/errors.js';
import { previewLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/tally.js';

/**
 * Bounds the bytes of the previews that a process has in memory, and of those of one caller, who always gets one. Small previews are not counted.
 * Taking bytes gives the function that gives them back. Throws Failure `general_unavailable`.
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
