import { realtimeLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/admission/tally.js';

/** A client with unsent bytes. */
interface Reader {
  buffered(): number;
  /** Closes it if it is behind and has not caught up since the last call. */
  checkReading(): void;
  /** Disconnects it and discards its unsent bytes. */
  drop(): void;
}

/**
 * Limits the unsent bytes of all sockets of a process. Each socket has its own limit, but many slow ones together may use too much memory,
 * as a single message may be large. Beyond the limit, sockets with the most unsent bytes are disconnected.
 */
export class Backlog {
  /** Unsent bytes of each socket at its last check. Some may have been sent since. */
  readonly #bytes = new Tally<Reader>();

  /** Updates the unsent bytes of a socket. */
  note(socket: Reader): void {
    this.#bytes.add(socket, socket.buffered() - this.#bytes.of(socket));
    if (this.#bytes.all > realtimeLimits.bufferedTogether) this.#relieve();
  }

  /** Removes a closed socket. */
  forget(socket: Reader): void {
    this.#bytes.add(socket, -this.#bytes.of(socket));
  }

  /** Closes clients that do not read. Called once a second. */
  sweep(): void {
    for (const [socket] of this.#bytes.entries()) socket.checkReading();
    this.#reread();
  }

  /** Disconnects the clients with the most unsent bytes until half of the limit is free. */
  #relieve(): void {
    this.#reread();
    if (this.#bytes.all <= realtimeLimits.bufferedTogether) return;
    for (const [socket] of this.#bytes.entries().sort(([, a], [, b]) => b - a)) {
      if (this.#bytes.all <= realtimeLimits.bufferedTogether / 2) return;
      this.forget(socket);
      socket.drop();
    }
  }

  #reread(): void {
    for (const [socket, bytes] of this.#bytes.entries()) this.#bytes.add(socket, socket.buffered() - bytes);
  }
}
