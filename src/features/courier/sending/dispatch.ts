import { courierLimits } from '#src/contract/limits.js';
import type { Carried } from '#src/platform/carried.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { nameOf } from '#src/platform/worker.js';
import type { Channel } from '../messages.js';
import { type MessageRow, type MessageStore, messageTable } from '../store.js';
import type { Carriers } from './carriers.js';
import { standingAfter } from './standing.js';

type Parts = Pick<Platform, 'db' | 'clock' | 'random' | 'log' | 'metrics'>;

const channels: readonly Channel[] = ['email', 'sms'];

/**
 * Sends what is due: claims it for a minute, hands it over outside of any unit, and records what came of it. A process that dies loses its
 * claims to the others; what it handed over before may then arrive twice, under the same message id.
 */
export function createDispatch(platform: Parts, store: MessageStore, carriers: Carriers) {
  const { db, clock, random, log, metrics } = platform;
  const owner = random.id();
  const underWay = new Set<Promise<void>>();
  const busy: Record<Channel, number> = { email: 0, sms: 0 };
  const delayed = new Set<Channel>();
  const by = (projectId: string | null, requestId = '') => ({
    ...{ projectId, requestId, actor: { kind: 'service', id: 'courier' } },
  });

  const claimOf = async (unit: Unit, channel: Channel): Promise<MessageRow[]> => {
    const expired = await unit.run(store.expire(channel, unit.now));
    if (expired > 0) unit.afterCommit(() => metrics.messages(channel, 'expired', expired));
    const until = instantOf(millisecondsOf(unit.now) + courierLimits.leaseMs);
    const most = courierLimits.atOnce - busy[channel];
    const rows = await unit.all(store.claim({ channel, now: unit.now, until, owner, most }));
    return rows.map((row) => messageTable.decode(row));
  };
  /** Takes as much of what is due as can be sent at once; the channels do not wait for each other. */
  const claim = async (): Promise<MessageRow[]> => {
    const due = (await db.all(store.waiting({ now: instantOf(clock.now()) }))).map(({ channel }) => channel);
    const hasRoom = (channel: Channel) => carriers.has(channel) && busy[channel] < courierLimits.atOnce;
    const chosen = channels.filter((channel) => due.includes(channel) && hasRoom(channel));
    if (chosen.length === 0) return [];
    return db.work(by(null), async (unit) => {
      const claimed: MessageRow[] = [];
      for (const channel of chosen) claimed.push(...(await claimOf(unit, channel)));
      return claimed;
    });
  };

  /** Records an attempt, unless somebody else has taken the message over meanwhile. */
  const settle = async (row: MessageRow, channel: Channel, carried: Carried): Promise<void> => {
    const standing = standingAfter(row, carried, clock.now(), random);
    const count = await db.work(by(row.projectId, row.id), (unit) => unit.run(store.finish(row, standing)));
    if (count === 0) return;
    const { state, error } = standing;
    metrics.messages(channel, state, 1);
    const { id: message, projectId: project, template, attempt } = row;
    if (state === 'failed' || state === 'expired')
      log.warn('courier.given-up', { message, project, template, attempt, state, error });
  };
  /** An outage is said once, not once for each message. */
  const tell = (channel: Channel, { ok, isFinal, error }: Carried): void => {
    if (ok) delayed.delete(channel);
    else if (!isFinal && !delayed.has(channel)) {
      delayed.add(channel);
      log.warn('courier.delayed', { channel, error });
    }
  };

  /** The place is free as soon as there is an answer. */
  const send = async (row: MessageRow, then: () => void): Promise<void> => {
    const channel = row.channel as Channel;
    busy[channel] += 1;
    let carried: Carried;
    try {
      carried = await carriers.carry(channel, row);
    } finally {
      busy[channel] -= 1;
      then();
    }
    tell(channel, carried);
    await settle(row, channel, carried);
  };
  const begin = async (then: () => void): Promise<number> => {
    const claimed = await claim();
    for (const row of claimed) {
      const work = send(row, then)
        .catch((error: unknown) => {
          // The lease ends by itself and the message is sent again.
          log.error('courier.message.failed', { message: row.id, error: nameOf(error) });
        })
        .finally(() => underWay.delete(work));
      underWay.add(work);
    }
    return claimed.length;
  };
  const idle = async (): Promise<void> => {
    while (underWay.size > 0) await Promise.all(underWay);
  };
  return {
    /** Begins as many messages as there is room for; `then` is called as each of them leaves its place. */
    begin,
    /** Resolves when nothing is under way; each attempt has its time limit. */
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
