import { Failure } from '#src/contract/errors.js';

/** Limits the concurrent tasks of each caller to `ofCaller`. Throws Failure `general_unavailable` beyond that. */
export function createShare(ofCaller: number): <T>(caller: string, task: () => Promise<T>) => Promise<T> {
  const running = new Map<string, number>();
  return async (caller, task) => {
    const count = running.get(caller) ?? 0;
    if (count >= ofCaller) throw new Failure('general_unavailable', { retryAfter: 1, cause: 'previews of one caller' });
    running.set(caller, count + 1);
    try {
      return await task();
    } finally {
      const left = (running.get(caller) ?? 1) - 1;
      if (left === 0) running.delete(caller);
      else running.set(caller, left);
    }
  };
}
