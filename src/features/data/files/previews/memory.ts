import { Failure } from '#src/contract/errors.js';
import { previewLimits } from '#src/contract/limits.js';

/**
 * Bounds the bytes of the previews that a process has in memory, and of those of one caller, who always gets one. Small previews are not counted.
 * Taking bytes gives the function that gives them back. Throws Failure `general_unavailable`.
 */
export function createMemory(): (caller: string, bytes: number) => () => void {
  const { smallBytes, heldBytes, heldBytesOfCaller, heldRetrySeconds } = previewLimits;
  const taken = new Map<string, number>();
  let all = 0;
  const add = (caller: string, bytes: number): void => {
    all += bytes;
    const left = (taken.get(caller) ?? 0) + bytes;
    if (left > 0) taken.set(caller, left);
    else taken.delete(caller);
  };
  return (caller, bytes) => {
    if (bytes <= smallBytes) return () => {};
    const mine = taken.get(caller) ?? 0;
    if (all + bytes > heldBytes || (mine > 0 && mine + bytes > heldBytesOfCaller))
      throw new Failure('general_unavailable', { retryAfter: heldRetrySeconds, cause: 'previews in memory' });
    add(caller, bytes);
    return () => add(caller, -bytes);
  };
}
