import { webhookLimits } from '#src/contract/limits.js';
import { Tally } from '#src/platform/tally.js';

/** Counts the bytes of the long bodies that are under way, of each queue and in all, and tells how many more there is room for. */
export function createLongBodies() {
  const underWay = new Tally();
  return {
    room: (queue?: string): number =>
      queue === undefined
        ? webhookLimits.longAtOnce - underWay.all
        : webhookLimits.longAtOncePerWebhook - underWay.of(queue),
    /** Counts a body while something is done with it. */
    during: async <T>(queue: string, bytes: number, work: () => Promise<T>): Promise<T> =>
      bytes > webhookLimits.longBytes ? work().finally(underWay.take(queue, bytes)) : work(),
  };
}
