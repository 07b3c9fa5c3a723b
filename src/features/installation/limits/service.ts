import { isOurFault } from '#src/contract/errors.js';
import type { LimitName } from '#src/contract/limits.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { advance, type LimitState } from '#src/platform/limiter.js';
import { challengeKey, counterKey, type LimitKind, limitKinds, type Rates, windowOf } from './rates.js';
import { createRefunds } from './refunds.js';
import { arrivalAt, type LimitStore, limitCounters } from './store.js';

/** Whose calls: each that is given is counted by itself. */
interface LimitKeys {
  readonly account?: string;
  readonly address?: string;
  readonly anyone?: string;
  readonly project?: string;
}

/** Counts calls of the security classes in the database, so that every process and the command line agree. */
export interface LimitCounting {
  /** Counts one call; undefined where the class has no such limit or limits are off. */
  take(unit: Unit, name: LimitName, kind: LimitKind, value: string): Promise<LimitState | undefined>;
  /** Gives counted calls back, where they failed for a reason of ours. Never throws. */
  giveBack(by: AuditContext, name: LimitName, keys: LimitKeys, reason: unknown): Promise<void>;
  /**
   * Counts a try in a unit of its own, then lets it be judged. A try that nobody could judge, as the hash queue was full or the database away,
   * is given back: a storm of right passwords must lock nobody out. Throws Failure 429 when a limit is exhausted. Not inside a unit of work.
   */
  attempt<T>(by: AuditContext, name: LimitName, keys: LimitKeys, judge: () => Promise<T>): Promise<T>;
  /** Counts one call against each key that is given, up to the first that is exhausted. Refuses with 429 when one is; the count stays. */
  demand(unit: Unit, name: LimitName, keys: LimitKeys): Promise<void>;
  /** The same for a caller that goes on without what is limited: false when one of them is exhausted. */
  allows(unit: Unit, name: LimitName, keys: LimitKeys): Promise<boolean>;
  /**
   * Counts a message with a code or a link that anyone can ask for: per recipient, in the short and in the long run, and for the project. The
   * address that asks is counted by the operation's own class. Refuses with 429.
   */
  demandSend(unit: Unit, channel: 'mail' | 'sms', recipient: string): Promise<void>;
  /**
   * Counts a code of the second factor, for a user who has given another factor: per user, likewise, and for the project. What strangers have sent,
   * to the user or to others, leaves room for it. Refuses with 429.
   */
  demandChallenge(unit: Unit, channel: 'mail' | 'sms', userId: string): Promise<void>;
  /** The call turned out to be honest: an account's counter starts anew, an address gets its try back. */
  forgive(unit: Unit, name: LimitName, keys: { account?: string; address?: string }): Promise<void>;
}

/** Creates the counting of calls. */
export function createCounting(
  runtime: Pick<Runtime, 'db' | 'clock'>,
  store: LimitStore,
  { rateOf, isOff }: Rates,
): LimitCounting {
  const { db, clock } = runtime;
  const refunds = createRefunds(runtime, store);
  const everybody = '';

  const take: LimitCounting['take'] = async (unit, name, kind, value) => {
    const rate = rateOf(name, kind);
    if (rate === undefined || isOff(name)) return undefined;
    refunds.resume(unit);
    const now = clock.now();
    const key = counterKey(unit.by.projectId ?? '', name, kind, value);
    const { intervalMs, windowMs } = windowOf(rate);
    const moved = await unit.one(store.advance(key, now, { intervalMs, windowMs }));
    if (moved !== undefined) return advance(Number(moved.arrival) - intervalMs, now, rate).state;
    const found = await unit.one(store.find(key));
    const row = found && limitCounters.decode(found);
    const arrival = row === undefined ? now + windowMs : arrivalAt(row, now, windowMs);
    // Or else the time to wait would begin anew with each call, until the clock has caught up.
    if (row !== undefined && arrival !== row.arrival) await unit.run(store.place(key, arrival, now));
    return {
      ...advance(arrival, now, rate).state,
      allowed: false,
      remaining: 0,
      retryAfter: Math.max(1, Math.ceil((arrival + intervalMs - now - windowMs) / 1000)),
    };
  };

  /** Counts one call against each counter that is given, up to the first that is exhausted, and returns that one. */
  const takeAll = async (unit: Unit, name: LimitName, keys: LimitKeys): Promise<LimitState | undefined> => {
    for (const kind of limitKinds) {
      const value = keys[kind];
      const state = value === undefined ? undefined : await take(unit, name, kind, value);
      if (state?.allowed === false) return state;
    }
    return undefined;
  };
  const demand: LimitCounting['demand'] = async (unit, name, keys) => {
    const exhausted = await takeAll(unit, name, keys);
    if (exhausted !== undefined) throw unit.refuse('general_rate_limit_exceeded', { retryAfter: exhausted.retryAfter });
  };

  const demandTo = async (unit: Unit, account: string): Promise<void> => {
    await demand(unit, 'send', { account });
    await demand(unit, 'send-daily', { account });
  };

  const giveBack: LimitCounting['giveBack'] = (by, name, keys, reason) => {
    if (isOff(name)) return Promise.resolve();
    const counted = limitKinds.flatMap((kind) => {
      const [value, rate] = [keys[kind], rateOf(name, kind)];
      return value === undefined || rate === undefined
        ? []
        : [{ counter: counterKey(by.projectId ?? '', name, kind, value), rate }];
    });
    return refunds.give(by, counted, reason);
  };

  return {
    take,
    giveBack,
    attempt: async (by, name, keys, judge) => {
      await db.work(by, (unit) => demand(unit, name, keys));
      try {
        return await judge();
      } catch (error) {
        if (isOurFault(error)) await giveBack(by, name, keys, error);
        throw error;
      }
    },
    demand,
    allows: async (unit, name, keys) => (await takeAll(unit, name, keys)) === undefined,
    demandSend: async (unit, channel, recipient) => {
      await demandTo(unit, recipient);
      await demand(unit, `send-${channel}`, { anyone: everybody, project: everybody });
    },
    demandChallenge: async (unit, channel, userId) => {
      await demandTo(unit, challengeKey(userId, channel));
      await demand(unit, `send-${channel}`, { project: everybody });
    },
    forgive: async (unit, name, { account, address }) => {
      const projectId = unit.by.projectId ?? '';
      if (account !== undefined) await unit.run(store.remove(counterKey(projectId, name, 'account', account)));
      const rate = rateOf(name, 'address');
      if (rate === undefined || address === undefined) return;
      await unit.run(store.retreat(counterKey(projectId, name, 'address', address), windowOf(rate).intervalMs));
    },
  };
}
