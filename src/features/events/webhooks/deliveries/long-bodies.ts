import { webhookLimits } from '#src/contract/limits.js';

/** Counts the bytes of the long bodies that are under way, of each queue and in all, and tells how many more there is room for. */
export function createLongBodies() {
  const ofQueue = new Map<string, number>();
  let all = 0;
  const add = (queue: string, bytes: number): void => {
    all += bytes;
    const left = (ofQueue.get(queue) ?? 0) + bytes;
    if (left > 0) ofQueue.set(queue, left);
    else ofQueue.delete(queue);
  };
  return {
    room: (queue?: string): number =>
      queue === undefined
        ? webhookLimits.longAtOnce - all
        : webhookLimits.longAtOncePerWebhook - (ofQueue.get(queue) ?? 0),
    /** Counts a body while something is done with it. */
    during: async <T>(queue: string, bytes: number, work: () => Promise<T>): Promise<T> => {
      if (bytes <= webhookLimits.longBytes) return work();
      add(queue, bytes);
      return work().finally(() => add(queue, -bytes));
    },
  };
}
