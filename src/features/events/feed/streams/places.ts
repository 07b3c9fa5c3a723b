import { Failure } from '#src/contract/errors.js';
import { feedLimits } from '#src/contract/limits.js';

/** Places of readers that wait or stream: each holds a connection and some memory for a long time. */
export function createPlaces() {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    /**
     * Takes a place in the share of an account; returns what gives it back, once. Throws Failure `general_rate_limit_exceeded` where the
     * account has its share already, and `general_unavailable` where no place is free.
     */
    take: (account: string): (() => void) => {
      const own = taken.get(account) ?? 0;
      const { readers, readersOfAccount, retrySeconds: retryAfter } = feedLimits;
      if (own >= readersOfAccount) throw new Failure('general_rate_limit_exceeded', { retryAfter });
      if (all >= readers) throw new Failure('general_unavailable', { retryAfter });
      taken.set(account, own + 1);
      all += 1;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        all -= 1;
        const left = (taken.get(account) ?? 1) - 1;
        if (left > 0) taken.set(account, left);
        else taken.delete(account);
      };
    },
    count: () => all,
  };
}

/** The places of a process. */
export type Places = ReturnType<typeof createPlaces>;
