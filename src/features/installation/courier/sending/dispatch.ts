import { courierLimits } from '#src/contract/limits.js';
import { instantOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import { createLeasedQueue } from '#src/platform/leased-queue.js';
import type { SendResult } from '#src/platform/send-result.js';
import type { Channel } from '../messages.js';
import { type MessageRow, type MessageStore, messageTable } from '../store.js';
import type { Channels } from './channels.js';
import type { MessageMetrics } from './metrics.js';
import { nextState } from './next-state.js';
import { createOutages } from './outages.js';

type Deps = Pick<Runtime, 'db' | 'clock' | 'random' | 'log'>;

const allChannels: readonly Channel[] = ['email', 'sms'];

/** Sends messages that are due. One that is sent twice, because a process died, has the same id both times. */
export function createDispatch(
  { db, clock, random, log }: Deps,
  store: MessageStore,
  channels: Channels,
  metrics: MessageMetrics,
) {
  const noteOutcome = createOutages({ clock, log }, store);
  const by = (projectId: string | null, requestId = '') => ({
    projectId,
    requestId,
    actor: { kind: 'service', id: 'courier' },
  });
  const channelOf = ({ channel }: MessageRow) => channel as Channel;

  /** Records an attempt, unless another process has taken the message over meanwhile. */
  const recordAttempt = async (row: MessageRow, result: SendResult): Promise<void> => {
    const channel = channelOf(row);
    const next = nextState(row, result, clock.now(), random);
    const count = await db.work(by(row.projectId, row.id), async (unit) => {
      const settled = await unit.run(store.settle(row, next));
      if (settled > 0) await noteOutcome(unit, channel, result);
      return settled;
    });
    if (count === 0) return;
    const { state, error } = next;
    metrics.outcome(channel, state, 1);
    const { id: message, projectId: project, template, attempt } = row;
    if (state === 'failed' || state === 'expired')
      log.warn('courier.given-up', { message, project, template, attempt, state, error });
  };

  const { begin, idle } = createLeasedQueue<MessageRow, SendResult>(random, {
    leaseMs: courierLimits.leaseMs,
    /** Takes as many messages as can be sent at once; the channels do not wait for each other. */
    claim: async (leaseAt, busy) => {
      const due = (await db.all(store.waiting({ now: instantOf(clock.now()) }))).map(({ channel }) => channel);
      const room = (channel: Channel) => courierLimits.atOnce - busy(channel);
      const chosen = allChannels.filter(
        (channel) => due.includes(channel) && channels.has(channel) && room(channel) > 0,
      );
      if (chosen.length === 0) return [];
      return db.work(by(null), async (unit) => {
        const claimed: MessageRow[] = [];
        for (const channel of chosen) {
          const expired = await unit.run(store.expire(channel, unit.now));
          if (expired > 0) unit.afterCommit(() => metrics.outcome(channel, 'expired', expired));
          const rows = await unit.all(store.claim({ channel }, leaseAt(unit.now), room(channel)));
          claimed.push(...rows.map((row) => messageTable.decode(row)));
        }
        return claimed;
      });
    },
    queueOf: channelOf,
    attempt: (row) => channels.send(channelOf(row), row),
    settle: recordAttempt,
    onTrouble: ({ id }, error) => log.error('courier.message.failed', { message: id, error }),
  });
  return {
    begin,
    idle,
    /** Sends everything that is due, until the signal. */
    sendAll: async (signal: AbortSignal): Promise<void> => {
      let begun: number;
      do {
        signal.throwIfAborted();
        begun = await begin(() => {});
        await idle();
      } while (begun > 0);
    },
  };
}
