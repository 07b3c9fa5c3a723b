import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { SendResult } from '#src/platform/send-result.js';
import type { Channel } from '../messages.js';
import type { MessageStore } from '../store.js';

/** A server that accepts every other message does not fill the log: a process writes one line about each channel in this time. */
const quietMs = 60_000;

/** Logs when a channel begins to refuse messages and when it accepts them again: one line each for all processes, not one for each message. */
export function createOutages({ clock, log }: Pick<Runtime, 'clock' | 'log'>, store: MessageStore) {
  const toldAt = new Map<Channel, number>();
  const isQuiet = (channel: Channel): boolean => {
    const before = toldAt.get(channel);
    return before !== undefined && clock.monotonic() - before < quietMs;
  };
  /** Notes how an attempt ended, in the unit that records it. One that was refused for good says nothing about the server. */
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
