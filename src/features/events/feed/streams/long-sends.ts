import type { StreamSink } from '#src/contract/event-stream.js';
import { feedLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';

interface LongSend {
  readonly account: string;
  readonly sink: StreamSink;
  readonly since: number;
  /** What the client had taken before. */
  readonly before: number;
}

/** Large events that streams are sending. Each is in memory until its reader has taken it, so a slow reader gives way to those who wait. */
export class LongSends {
  readonly #clock: Runtime['clock'];
  readonly #sends = new Set<LongSend>();

  constructor(clock: Runtime['clock']) {
    this.#clock = clock;
  }

  /** Writes text to the reader of a stream. */
  async write(account: string, sink: StreamSink, text: string): Promise<void> {
    const send = { account, sink, since: this.#clock.monotonic(), before: sink.taken() };
    this.#sends.add(send);
    try {
      await sink.write(text);
    } finally {
      this.#sends.delete(send);
    }
  }

  /** Cuts off the slowest of those that have had their time: of an account, or of all. Its client goes on at the last id that it has. */
  cutSlowest(account: string | undefined): void {
    const now = this.#clock.monotonic();
    const rate = ({ sink, before, since }: LongSend) => (sink.taken() - before) / (now - since);
    const [slowest] = [...this.#sends]
      .filter((send) => account === undefined || send.account === account)
      .filter(({ since }) => since <= now - feedLimits.giveWayMs)
      .sort((a, b) => rate(a) - rate(b));
    slowest?.sink.cut();
  }
}
