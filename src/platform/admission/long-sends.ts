import type { Clock } from '../runtime/clock.js';

/** A connection that a response is sent over. */
export interface Sending {
  /** Bytes that the client has received so far. */
  taken(): number;
  /** Closes the connection. */
  cut(): void;
}

/** Pace that a client must keep while others wait for the memory of its response. */
export interface Pace {
  /** A client is cut off if it has received fewer than `giveWayBytes` in the last `giveWayMs` milliseconds. */
  readonly giveWayMs: number;
  readonly giveWayBytes: number;
  /** A client that takes longer than this in total is cut off at any pace. */
  readonly giveWayAfterMs: number;
}

interface LongSend {
  readonly sending: Sending;
  readonly bytes: number;
  readonly since: number;
  /** Samples of the bytes received, oldest first. The first one is the last from before the measured period. */
  readonly marks: { readonly at: number; readonly taken: number }[];
}

/** Interval of the samples. */
const markMs = 1000;

/**
 * Large responses that are being sent. Each stays in memory until its client has received it, so slow clients are cut off while others
 * wait. A client that keeps the pace may finish, because otherwise it would retry and displace others in turn. The kernel accepts a
 * response in bursts of up to a third of its buffer, 1.4 MB on Linux, so a client that reads steadily appears to receive nothing for
 * seconds.
 */
export class LongSends {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #lacking: () => number;
  readonly #sends = new Set<LongSend>();
  #marking: NodeJS.Timeout | undefined;

  /** `lacking` returns the bytes that waiting callers need and that are not free. */
  constructor(clock: Clock, pace: Pace, lacking: () => number) {
    this.#clock = clock;
    this.#pace = pace;
    this.#lacking = lacking;
  }

  /** Measures a client with a response of `bytes`, and closes its connection if it is slow while others wait. Call the result to stop. */
  add(sending: Sending, bytes: number): () => void {
    const since = this.#clock.monotonic();
    const send = { sending, bytes, since, marks: [{ at: since, taken: sending.taken() }] };
    this.#sends.add(send);
    this.#marking ??= setInterval(() => {
      this.#mark();
      this.#giveWay(this.#lacking());
    }, markMs).unref();
    return () => {
      this.#sends.delete(send);
      if (this.#sends.size > 0) return;
      clearInterval(this.#marking);
      this.#marking = undefined;
    };
  }

  /** Cuts off clients below the pace, slowest first, until `bytes` are free. */
  #giveWay(bytes: number): void {
    if (bytes <= 0) return;
    const { giveWayBytes, giveWayAfterMs } = this.#pace;
    const now = this.#clock.monotonic();
    const slow = [...this.#sends]
      .map((send) => ({ send, taken: this.#takenLately(send, now) }))
      .filter(({ send, taken }) => taken < giveWayBytes || now - send.since >= giveWayAfterMs)
      .sort((a, b) => a.taken - b.taken);
    let free = 0;
    for (const { send } of slow) {
      if (free >= bytes) return;
      free += send.bytes;
      send.sending.cut();
    }
  }

  #mark(): void {
    const at = this.#clock.monotonic();
    for (const { sending, marks } of this.#sends) {
      marks.push({ at, taken: sending.taken() });
      while ((marks[1]?.at ?? at) <= at - this.#pace.giveWayMs) marks.shift();
    }
  }

  /** Bytes received in the measured period; infinite if the response has not been sent for that long. */
  #takenLately({ sending, marks }: LongSend, now: number): number {
    const [first] = marks;
    const isKnown = first !== undefined && first.at <= now - this.#pace.giveWayMs;
    return isKnown ? sending.taken() - first.taken : Number.POSITIVE_INFINITY;
  }
}
