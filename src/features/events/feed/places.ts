import { Failure } from '#src/contract/errors.js';
import { feedLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/admission/tally.js';

/** Reader slots of a process. */
export interface Places {
  /**
   * Acquires a slot for an account. Returns a function that releases it; further calls have no effect. Throws Failure
   * `general_rate_limit_exceeded` if the account has no slot left, and `general_unavailable` if the process has none.
   */
  take(account: string): () => void;
  count(): number;
}

/** Limits waiting and streaming readers, in total and per account. Each uses a connection and memory for a long time. */
export function createReaderSlots(): Places {
  const taken = new Tally();
  return {
    take: (account) => {
      const { readers, readersOfAccount, retrySeconds: retryAfter } = feedLimits;
      if (taken.of(account) >= readersOfAccount) throw new Failure('general_rate_limit_exceeded', { retryAfter });
      if (taken.all >= readers) throw new Failure('general_unavailable', { retryAfter });
      return taken.take(account, 1);
    },
    count: () => taken.all,
  };
}
