import { realtimeLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/admission/tally.js';

/** The memory quota of one socket's subscriptions. */
export interface SubscriptionShare {
  /** Acquires bytes, or releases them if the number is negative. Returns false and acquires nothing if they exceed the quota. */
  take(bytes: number): boolean;
}

/** Limits the memory of all subscriptions of a process, in total and per address. */
export class SubscriptionRoom {
  readonly #taken = new Tally();

  /** The quota for a socket of this address. */
  of(address: string): SubscriptionShare {
    return {
      take: (bytes) => {
        const fits =
          this.#taken.of(address) + bytes <= realtimeLimits.subscriptionBytesOfAddress &&
          this.#taken.all + bytes <= realtimeLimits.subscriptionBytesTogether;
        if (bytes > 0 && !fits) return false;
        this.#taken.add(address, bytes);
        return true;
      },
    };
  }
}
