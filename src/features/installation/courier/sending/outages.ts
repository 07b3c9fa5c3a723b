import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { SendResult } from '#src/platform/outbound/send-result.js';
import type { Channel } from '../model/messages.js';
import type { MessageStore } from '../model/store.js';

/** Minimum time between two log lines about a channel in one process. A server that accepts every other message must not flood the log. */
const quietMs = 60_000;

/** Logs when a channel starts refusing messages and when it accepts them again: one line for all processes, not one per message. */
export function createOutages({ clock, log }: Pick<Runtime, 'clock' | 'log'>, store: MessageStore) {
  const toldAt = new Map<Channel, number>();
  const isQuiet = (channel: Channel): boolean => {
    const before = toldAt.get(channel);
    return before !== undefined && clock.monotonic() - before < quietMs;
  };
  /** Records the result of an attempt, in the unit that stores it. A final refusal concerns the message, not the server, and is ignored. */
  return async (unit: Unit, channel: Channel, { ok, isFinal, error }: SendResult): Promise<void> => {
    if (ok) {
      if ((await unit.run(store.endOutage(channel))) > 0)
        unit.afterCommit(() => log.info('courier.sending', { channel }));
    } else if (!isFinal && !isQuiet(channel)) {
      if ((await unit.run(store.beginOutage(channel))) === 0) return;
      unit.afterCommit(() => {
        toldAt.set(channel, clock.monotonic());
        log.warn('courier.delayed', { channel, error });
      });
    }
  };
}
