import { realtimeLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/tally.js';

/** A client for which bytes may wait. */
interface Reader {
  buffered(): number;
  /** Cuts it off, with what waits for it. */
  drop(): void;
}

/**
 * What clients of this process have not read yet. Each socket has a bound of its own, but many that read nothing may still hold too much
 * together: a single message may be large. Then those that hold most are cut off.
 */
export class Backlog {
  /** Bytes that waited for each socket when it was looked at last; they may have left since. */
  readonly #bytes = new Tally<Reader>();

  /** Takes note of what waits for a socket. */
  note(socket: Reader): void {
    this.#bytes.add(socket, socket.buffered() - this.#bytes.of(socket));
    if (this.#bytes.all > realtimeLimits.bufferedTogether) this.#relieve();
  }

  /** A socket is gone, and what waited for it too. */
  forget(socket: Reader): void {
    this.#bytes.add(socket, -this.#bytes.of(socket));
  }

  /** Looks at all of them anew, and cuts off the largest until a half of the room is free. */
  #relieve(): void {
    for (const [socket, bytes] of this.#bytes.entries()) this.#bytes.add(socket, socket.buffered() - bytes);
    if (this.#bytes.all <= realtimeLimits.bufferedTogether) return;
    for (const [socket] of this.#bytes.entries().sort(([, a], [, b]) => b - a)) {
      if (this.#bytes.all <= realtimeLimits.bufferedTogether / 2) return;
      this.forget(socket);
      socket.drop();
    }
  }
}
