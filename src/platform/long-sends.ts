import type { Clock } from './clock.js';

/** A connection that a response is sent over. */
export interface Sending {
  /** Bytes of it that the client has taken so far. */
  taken(): number;
  /** Closes the connection. */
  cut(): void;
}

/** The pace that a client has to keep where others wait for the memory of what it is sent. */
export interface Pace {
  /** Milliseconds over which it is measured. */
  readonly giveWayMs: number;
  readonly giveWayBytesPerSecond: number;
}

interface LongSend {
  readonly sending: Sending;
  readonly bytes: number;
  /** When its pace was looked at last, and what the client had taken then. */
  lookedAt: number;
  before: number;
}

/**
 * Large responses that are being sent. Each is in memory until its reader has taken it, so a slow reader gives way to those who wait; one that
 * keeps a pace is left to end, as it would otherwise come again and cut others off in turn.
 */
export class LongSends {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #sends = new Set<LongSend>();

  constructor(clock: Clock, pace: Pace) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** Begins to watch the reader of so many bytes; the function that it returns ends that. */
  add(sending: Sending, bytes: number): () => void {
    const send = { sending, bytes, lookedAt: this.#clock.monotonic(), before: sending.taken() };
    this.#sends.add(send);
    return () => this.#sends.delete(send);
  }

  /** Cuts off the slowest of those that have not kept the pace since the last look, until so many bytes are free. */
  giveWay(bytes: number): void {
    const slow = [...this.#sends]
      .map((send) => ({ send, pace: this.#paceOf(send) }))
      .filter(({ pace }) => pace < this.#pace.giveWayBytesPerSecond)
      .sort((a, b) => a.pace - b.pace);
    let free = 0;
    for (const { send } of slow) {
      if (free >= bytes) return;
      free += send.bytes;
      send.sending.cut();
    }
  }

  /** Bytes a second since the last look, which is some seconds ago; else it counts as quick. */
  #paceOf(send: LongSend): number {
    const now = this.#clock.monotonic();
    const [ms, taken] = [now - send.lookedAt, send.sending.taken()];
    if (ms < this.#pace.giveWayMs) return Number.POSITIVE_INFINITY;
    const pace = ((taken - send.before) * 1000) / ms;
    send.lookedAt = now;
    send.before = taken;
    return pace;
  }
}
