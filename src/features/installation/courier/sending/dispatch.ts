import { courierLimits, messageDelays } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { type Random, withJitter } from '#src/platform/crypto/random.js';
import type { RowLease } from '#src/platform/db/leased-rows.js';
import { byService } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { createLeasedQueue } from '#src/platform/jobs/leased-queue.js';
import type { SendResult } from '#src/platform/outbound/send-result.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { Channel } from '../model/messages.js';
import { type MessageRow, type MessageStore, messageTable, type Settled } from '../model/store.js';
import type { Channels } from './channels.js';
import type { MessageMetrics } from './metrics.js';
import { createOutages } from './outages.js';

type DispatchRuntime = Pick<Runtime, 'db' | 'clock' | 'random' | 'log'>;

interface Deps extends DispatchRuntime {
  readonly store: MessageStore;
  readonly channels: Channels;
  readonly metrics: MessageMetrics;
  /** Records the result of an attempt, in the unit that stores it. */
  readonly noteOutcome: (unit: Unit, channel: Channel, result: SendResult) => Promise<void>;
}

const allChannels: readonly Channel[] = ['email', 'sms'];

/** Sends due messages. A message sent twice, as a process died, has the same id both times. */
export function createDispatch(
  { db, clock, random, log }: DispatchRuntime,
  store: MessageStore,
  channels: Channels,
  metrics: MessageMetrics,
) {
  const noteOutcome = createOutages({ clock, log }, store);
  const deps: Deps = { db, clock, random, log, store, channels, metrics, noteOutcome };
  const { begin, idle } = createLeasedQueue<MessageRow, SendResult>(random, {
    leaseMs: courierLimits.leaseMs,
    queueOf: channelOf,
    attempt: (row) => channels.send(channelOf(row), row),
    onTrouble: ({ id }, error) => log.error('courier.message.failed', { message: id, error }),
    ...bind(deps, { claim, recordOutcome }),
  });
  return {
    begin,
    idle,
    /** Sends all due messages, until the signal aborts. */
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

function channelOf({ channel }: MessageRow): Channel {
  return channel as Channel;
}

/** Claims as many messages as can be sent concurrently. Each channel has its own limit. */
async function claim(
  { db, clock, store, channels, metrics }: Deps,
  leaseAt: (now: Instant) => RowLease,
  busy: (channel: Channel) => number,
): Promise<readonly MessageRow[]> {
  const due = (await db.all(store.waiting({ now: instantOf(clock.now()) }))).map(({ channel }) => channel);
  const room = (channel: Channel) => courierLimits.atOnce - busy(channel);
  const chosen = allChannels.filter((channel) => due.includes(channel) && channels.has(channel) && room(channel) > 0);
  if (chosen.length === 0) return [];
  return db.work(byService('courier'), async (unit) => {
    const claimed: MessageRow[] = [];
    for (const channel of chosen) {
      const expired = await unit.run(store.expire(channel, unit.now));
      if (expired > 0) unit.afterCommit(() => metrics.outcome(channel, 'expired', expired));
      const rows = await unit.all(store.claim(channel, leaseAt(unit.now), room(channel)));
      claimed.push(...rows.map((row) => messageTable.decode(row)));
    }
    return claimed;
  });
}

/** Records an attempt, unless another process has claimed the message since. */
async function recordOutcome(deps: Deps, row: MessageRow, result: SendResult): Promise<void> {
  const { db, clock, random, log, store, metrics, noteOutcome } = deps;
  const channel = channelOf(row);
  const next = nextState(row, result, clock.now(), random);
  const count = await db.work(byService('courier', row.projectId, row.id), async (unit) => {
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
}

/** State after an attempt: sent, failed, or retrying. Expired if the next attempt would be after the expiry of the code or link. */
function nextState(
  { attempt, expire }: Pick<MessageRow, 'attempt' | 'expire'>,
  { ok, isFinal, error }: SendResult,
  now: number,
  random: Random,
): Settled {
  const ended = (state: Settled['state']) => ({ state, dueAt: null, error, sentAt: ok ? instantOf(now) : null });
  if (ok) return ended('sent');
  const seconds = isFinal ? undefined : messageDelays[attempt - 1];
  if (seconds === undefined) return ended('failed');
  const dueAt = instantOf(now + withJitter(seconds * 1000, random));
  if (expire !== null && dueAt >= expire) return ended('expired');
  return { state: 'retrying', dueAt, error, sentAt: null };
}
