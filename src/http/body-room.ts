import { Failure } from '#src/contract/errors.js';
import { bodyRoom } from '#src/contract/limits.js';
import { addressKey } from '#src/platform/limiter.js';
import { Tally } from '#src/platform/tally.js';

/** The share of one body in the room for all bodies. */
export interface BodyShare {
  /** Takes room for a body that has grown to so many bytes. Throws Failure 503 where there is none. */
  grow(bytes: number): void;
  /** Gives the room back. */
  release(): void;
}

/**
 * Bounds the bytes of the bodies that a process reads and works on: what is made of one while its change waits for the database takes several
 * times its bytes. Small bodies take no room, so that logins and small changes are always read; no address can take all of it.
 */
export function createBodyRoom(): (ip: string) => BodyShare {
  const taken = new Tally();
  return (ip) => {
    const address = addressKey(ip);
    let mine = 0;
    const add = (bytes: number): void => {
      taken.add(address, bytes);
      mine += bytes;
    };
    return {
      grow: (bytes) => {
        const more = Math.max(0, bytes - bodyRoom.own) - mine;
        if (more <= 0) return;
        const isFull = taken.all + more > bodyRoom.all || taken.of(address) + more > bodyRoom.perAddress;
        if (isFull) throw new Failure('general_unavailable', { retryAfter: bodyRoom.retrySeconds });
        add(more);
      },
      release: () => add(-mine),
    };
  };
}
