import { webhookLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/admission/tally.js';

/** Counts the bytes of long bodies being sent, per queue and in total. */
export interface LongBodies {
  /** The remaining bytes, of one queue or in total. */
  room(queue?: string): number;
  /** Counts a body while `work` runs. */
  during<T>(queue: string, bytes: number, work: () => Promise<T>): Promise<T>;
}

/** Creates the counter of a process. */
export function createLongBodies(): LongBodies {
  const underWay = new Tally();
  return {
    room: (queue) =>
      queue === undefined
        ? webhookLimits.longAtOnce - underWay.all
        : webhookLimits.longAtOncePerWebhook - underWay.of(queue),
    during: async (queue, bytes, work) =>
      bytes > webhookLimits.longBytes ? work().finally(underWay.take(queue, bytes)) : work(),
  };
}
