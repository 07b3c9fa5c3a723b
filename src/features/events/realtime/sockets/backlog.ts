import { realtimeLimits } from '#src/contract/limits.js';

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
  readonly #bytes = new Map<Reader, number>();
  #total = 0;

  /** Takes note of what waits for a socket. */
  note(socket: Reader): void {
    const before = this.#bytes.get(socket) ?? 0;
    const bytes = socket.buffered();
    if (bytes === 0 && before === 0) return;
    this.#total += bytes - before;
    if (bytes > 0) this.#bytes.set(socket, bytes);
    else this.#bytes.delete(socket);
    if (this.#total > realtimeLimits.bufferedTogether) this.#relieve();
  }

  /** A socket is gone, and what waited for it too. */
  forget(socket: Reader): void {
    this.#total -= this.#bytes.get(socket) ?? 0;
    this.#bytes.delete(socket);
  }

  /** Looks at all of them anew, and cuts off the largest until a half of the room is free. */
  #relieve(): void {
    for (const socket of [...this.#bytes.keys()]) {
      this.forget(socket);
      const bytes = socket.buffered();
      if (bytes === 0) continue;
      this.#bytes.set(socket, bytes);
      this.#total += bytes;
    }
    if (this.#total <= realtimeLimits.bufferedTogether) return;
    for (const [socket] of [...this.#bytes].sort(([, a], [, b]) => b - a)) {
      if (this.#total <= realtimeLimits.bufferedTogether / 2) return;
      this.forget(socket);
      socket.drop();
    }
  }
}
