import type { Clock } from './clock.js';

/** A connection that a response is sent over. */
export interface Sending {
  /** Bytes of it that the client has taken so far. */
  taken(): number;
  /** Closes the connection. */
  cut(): void;
}

/** What a client has to take where others wait for the memory of what it is sent. */
export interface Pace {
  /** A client that has taken fewer bytes than these in the last so many milliseconds gives way. */
  readonly giveWayMs: number;
  readonly giveWayBytes: number;
  /** One that has taken longer than this in all gives way at any pace. */
  readonly giveWayAfterMs: number;
}

interface LongSend {
  readonly sending: Sending;
  readonly bytes: number;
  readonly since: number;
  /** What the client had taken at times, oldest first; the first of them is the last from before the time that counts. */
  readonly marks: { readonly at: number; readonly taken: number }[];
}

/** How often it is noted how far clients are. */
const markMs = 1000;

/**
 * Large responses that are being sent. Each is in memory until its reader has taken it, so a slow reader gives way to those who wait; one that
 * keeps a pace is left to end, as it would otherwise come again and cut others off in turn. The system takes a response in bursts of up to a
 * third of what it buffers, 1.4 MB on Linux, so a client that reads steadily takes nothing for seconds.
 */
export class LongSends {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #sends = new Set<LongSend>();
  #marking: NodeJS.Timeout | undefined;

  constructor(clock: Clock, pace: Pace) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** Begins to watch the reader of so many bytes; the function that it returns ends that. */
  add(sending: Sending, bytes: number): () => void {
    const since = this.#clock.monotonic();
    const send = { sending, bytes, since, marks: [{ at: since, taken: sending.taken() }] };
    this.#sends.add(send);
    this.#marking ??= setInterval(() => this.#mark(), markMs).unref();
    return () => {
      this.#sends.delete(send);
      if (this.#sends.size > 0) return;
      clearInterval(this.#marking);
      this.#marking = undefined;
    };
  }

  /** Cuts off the slowest of those that give way, until so many bytes are free. */
  giveWay(bytes: number): void {
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

  /** Bytes taken in the time that counts; of one that has not been sent for so long it is not known yet. */
  #takenLately({ sending, marks }: LongSend, now: number): number {
    const [first] = marks;
    const isKnown = first !== undefined && first.at <= now - this.#pace.giveWayMs;
    return isKnown ? sending.taken() - first.taken : Number.POSITIVE_INFINITY;
  }
}
