import { Failure } from '#src/contract/errors.js';
import { bodyRoom } from '#src/contract/limits.js';
import { addressKey } from '#src/platform/admission/limiter.js';
import { Quota } from '#src/platform/admission/quota.js';

/** The part of the body memory budget that one request uses. */
export interface BodyBudget {
  /** Reserves memory for a body that has grown to `bytes` in total. Throws Failure 503 if the budget is exhausted. */
  grow(bytes: number): void;
  /** Reserves memory for the parsed value of `members` members, before it is parsed. Throws Failure 503 if the budget is exhausted. */
  weigh(members: number): void;
  /** Releases the reservation. */
  release(): void;
}

/**
 * Bounds the memory for request bodies in this process. While a write waits for the database, the values parsed from its body take several
 * times the bytes of the body. Small bodies need no reservation, so logins and small changes are always read. A limit per address keeps one
 * client from using the whole budget.
 */
export function createBodyBudget(): (ip: string) => BodyBudget {
  const quota = new Quota({
    all: bodyRoom.all,
    ofOwner: bodyRoom.perAddress,
    refuse: () => new Failure('general_unavailable', { retryAfter: bodyRoom.retrySeconds }),
  });
  return (ip) => {
    const address = addressKey(ip);
    let mine = 0;
    let size = 0;
    return {
      grow,
      weigh: (members) => grow(size + members * bodyRoom.member),
      release: () => {
        quota.give(address, mine);
        mine = 0;
      },
    };
    function grow(bytes: number): void {
      size = bytes;
      const more = Math.max(0, bytes - bodyRoom.own) - mine;
      if (more <= 0) return;
      quota.take(address, more);
      mine += more;
    }
  };
}
