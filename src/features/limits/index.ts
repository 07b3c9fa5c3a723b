import { Failure } from '#src/contract/errors.js';
import { type LimitClass, type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { addressKey, advance, type LimitState } from '#src/platform/limiter.js';
import { type CounterKey, createLimitStore, limitCounters } from './store.js';

/** What a counter counts. */
export type LimitKind = 'address' | 'account';

/** A counter in use, as `svc limits show` prints it. */
export interface LimitCounter {
  readonly class: string;
  readonly kind: string;
  readonly key: string;
  readonly count: number;
  readonly limit: number;
  readonly resetAt: number;
}

/** Counts calls of the security classes in the database, so that every process and the command line agree. */
export function createLimits({ sql, clock, config }: Pick<Platform, 'sql' | 'clock' | 'config'>) {
  const store = createLimitStore(sql);
  const off = config.rateLimit === 'off';
  const rateOf = (name: LimitName, kind: LimitKind): Rate | undefined => {
    const shipped: LimitClass = limitClasses[name];
    return shipped[kind] === undefined ? undefined : (config.rateLimits[name] ?? shipped[kind]);
  };
  const keyOf = (kind: LimitKind, value: string) => (kind === 'address' ? addressKey(value) : value);
  const counter = (projectId: string, name: LimitName, kind: LimitKind, value: string): CounterKey => ({
    projectId,
    class: name,
    kind,
    key: keyOf(kind, value),
  });

  /** Counts one call; undefined where the class has no such limit or limits are off. */
  const take = async (unit: Unit, name: LimitName, kind: LimitKind, value: string): Promise<LimitState | undefined> => {
    const rate = rateOf(name, kind);
    if (off || rate === undefined) return undefined;
    const now = clock.now();
    const key = counter(unit.by.projectId ?? '', name, kind, value);
    const intervalMs = Math.ceil((rate.seconds * 1000) / rate.count);
    const windowMs = intervalMs * rate.count;
    const moved = await unit.one(store.advance(key, now, intervalMs, windowMs));
    if (moved !== undefined) return advance(Number(moved.arrival) - intervalMs, now, rate).state;
    const row = await unit.one(store.find(key));
    const arrival = row === undefined ? now + windowMs : limitCounters.decode(row).arrival;
    return {
      ...advance(arrival, now, rate).state,
      allowed: false,
      remaining: 0,
      retryAfter: Math.max(1, Math.ceil((arrival + intervalMs - now - windowMs) / 1000)),
    };
  };

  return {
    take,
    /** Counts one call against what is given of account and address. Throws Failure 429 when one of them is exhausted; the count stays. */
    demand: async (
      unit: Unit,
      name: LimitName,
      keys: { readonly account?: string; readonly address?: string },
    ): Promise<Failure | undefined> => {
      for (const kind of ['account', 'address'] as const) {
        const value = keys[kind];
        const state = value === undefined ? undefined : await take(unit, name, kind, value);
        if (state?.allowed === false)
          return new Failure('general_rate_limit_exceeded', { retryAfter: state.retryAfter });
      }
      return undefined;
    },
    /** The call turned out to be honest: the account's counter starts anew, the address gets its try back. */
    forgive: async (
      unit: Unit,
      name: LimitName,
      { account, address }: { account: string; address: string },
    ): Promise<void> => {
      const projectId = unit.by.projectId ?? '';
      await unit.run(store.remove(counter(projectId, name, 'account', account)));
      const rate = rateOf(name, 'address');
      if (rate === undefined) return;
      await unit.run(
        store.retreat(counter(projectId, name, 'address', address), Math.ceil((rate.seconds * 1000) / rate.count)),
      );
    },
    /** Counters that are not yet back to zero. */
    list: async (
      reader: Reader,
      selection: { projectId?: string; kind?: LimitKind; value?: string },
    ): Promise<LimitCounter[]> => {
      const now = clock.now();
      const { projectId, kind, value } = selection;
      const key = kind === undefined || value === undefined ? undefined : keyOf(kind, value);
      const rows = await reader.all(store.list({ projectId, kind, key }, now));
      return rows.map((row) => {
        const { class: name, kind: what, key: id, arrival } = limitCounters.decode(row);
        const rate = rateOf(name as LimitName, what as LimitKind) ?? { count: 1, seconds: 1 };
        const intervalMs = Math.ceil((rate.seconds * 1000) / rate.count);
        return {
          class: name,
          kind: what,
          key: id,
          count: Math.ceil((arrival - now) / intervalMs),
          limit: rate.count,
          resetAt: arrival,
        };
      });
    },
    /** Forgets counters and returns how many there were. */
    reset: async (unit: Unit, selection: { projectId?: string; kind?: LimitKind; value?: string }): Promise<number> => {
      const { projectId, kind, value } = selection;
      const key = kind === undefined || value === undefined ? undefined : keyOf(kind, value);
      const counters = await unit.run(store.reset({ projectId, kind, key }));
      unit.record('limitsReset', { resource: 'limits', payload: { counters } });
      return counters;
    },
  };
}

/** The limits service. */
export type Limits = ReturnType<typeof createLimits>;
