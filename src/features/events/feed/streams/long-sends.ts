import type { StreamSink } from '#src/contract/event-stream.js';
import { feedLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';

interface LongSend {
  readonly sink: StreamSink;
  /** When its pace was looked at last, and what the client had taken then. */
  lookedAt: number;
  taken: number;
}

/**
 * Large events that streams are sending. Each is in memory until its reader has taken it, so a slow reader gives way to those who wait; one that
 * keeps a pace is left to end, as it would otherwise come again and cut others off in turn.
 */
export class LongSends {
  readonly #clock: Runtime['clock'];
  readonly #sends = new Set<LongSend>();

  constructor(clock: Runtime['clock']) {
    this.#clock = clock;
  }

  /** Writes text to the reader of a stream. */
  async write(sink: StreamSink, text: string): Promise<void> {
    const send = { sink, lookedAt: this.#clock.monotonic(), taken: sink.taken() };
    this.#sends.add(send);
    try {
      await sink.write(text);
    } finally {
      this.#sends.delete(send);
    }
  }

  /** Cuts off the slowest of those that have not kept the pace since the last look. Its client goes on at the last id that it has. */
  cutSlowest(): void {
    const [slowest] = [...this.#sends]
      .map((send) => ({ sink: send.sink, pace: this.#paceOf(send) }))
      .filter(({ pace }) => pace < feedLimits.giveWayBytesPerSecond)
      .sort((a, b) => a.pace - b.pace);
    slowest?.sink.cut();
  }

  /** Bytes a second since the last look, which is some seconds ago; else it counts as quick. */
  #paceOf(send: LongSend): number {
    const now = this.#clock.monotonic();
    const [ms, taken] = [now - send.lookedAt, send.sink.taken()];
    if (ms < feedLimits.giveWayMs) return Number.POSITIVE_INFINITY;
    const pace = ((taken - send.taken) * 1000) / ms;
    send.lookedAt = now;
    send.taken = taken;
    return pace;
  }
}
