import { Failure } from '#src/contract/errors.js';
import { feedLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/tally.js';

/** Places of readers that wait or stream: each holds a connection and some memory for a long time. */
export function createPlaces() {
  const taken = new Tally();
  return {
    /**
     * Takes a place in the share of an account; returns what gives it back, once. Throws Failure `general_rate_limit_exceeded` where the
     * account has its share already, and `general_unavailable` where no place is free.
     */
    take: (account: string): (() => void) => {
      const { readers, readersOfAccount, retrySeconds: retryAfter } = feedLimits;
      if (taken.of(account) >= readersOfAccount) throw new Failure('general_rate_limit_exceeded', { retryAfter });
      if (taken.all >= readers) throw new Failure('general_unavailable', { retryAfter });
      return taken.take(account, 1);
    },
    count: () => taken.all,
  };
}

/** The places of a process. */
export type Places = ReturnType<typeof createPlaces>;
