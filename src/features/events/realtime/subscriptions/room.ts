import { realtimeLimits } from '#src/contract/limits.js';

/** The memory that the subscriptions of a socket take from that of all. */
export interface SubscriptionShare {
  /** Takes so many more bytes, or gives them back where they are negative. Returns false, and takes none, where they do not fit. */
  take(bytes: number): boolean;
}

/** Bounds the memory of all subscriptions of a process, and the part of it that the sockets of one address hold. */
export class SubscriptionRoom {
  readonly #ofAddress = new Map<string, number>();
  #total = 0;

  /** The share of a socket of this address. */
  of(address: string): SubscriptionShare {
    return {
      take: (bytes) => {
        const own = (this.#ofAddress.get(address) ?? 0) + bytes;
        const total = this.#total + bytes;
        const fits =
          own <= realtimeLimits.subscriptionBytesOfAddress && total <= realtimeLimits.subscriptionBytesTogether;
        if (bytes > 0 && !fits) return false;
        this.#total = total;
        if (own > 0) this.#ofAddress.set(address, own);
        else this.#ofAddress.delete(address);
        return true;
      },
    };
  }
}
