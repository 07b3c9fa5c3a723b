import { realtimeLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/tally.js';

/** The memory that the subscriptions of a socket take from that of all. */
export interface SubscriptionShare {
  /** Takes so many more bytes, or gives them back where they are negative. Returns false, and takes none, where they do not fit. */
  take(bytes: number): boolean;
}

/** Bounds the memory of all subscriptions of a process, and the part of it that the sockets of one address hold. */
export class SubscriptionRoom {
  readonly #taken = new Tally();

  /** The share of a socket of this address. */
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
