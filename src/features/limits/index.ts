import { Failure } from '#src/contract/errors.js';
import { type LimitClass, type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { addressKey, advance, type LimitState } from '#src/platform/limiter.js';
import { createPruning } from './pruning.js';
import { type CounterKey, createLimitStore, limitCounters, type StoredSelection } from './store.js';

/** What a counter counts. */
type LimitKind = 'address' | 'account' | 'project';

/** A counter in use, as `svc limits show` prints it. */
export interface LimitCounter {
  readonly class: string;
  readonly kind: string;
  readonly key: string;
  readonly count: number;
  readonly limit: number;
  readonly resetAt: number;
}

/** Which counters: of a project, and there of one address or one user, who need not exist. */
export interface LimitSelection {
  readonly projectId: string;
  readonly address?: string;
  readonly user?: { readonly id?: string; readonly email: string | null };
}

/** A limit in force. */
interface LimitRate extends Rate {
  readonly class: string;
  readonly kind: string;
  readonly summary: string;
  readonly counted: string;
}

/** Classes that keep somebody from guessing a code; they count even where limits are off. */
const attemptCaps: ReadonlySet<LimitName> = new Set(['mfa']);

/** Under what wrong guesses of a user's second factor, or of a signed-in user's current password, are counted. */
export function proofKey(userId: string): string {
  return `user:${userId}`;
}

/** Counts calls of the security classes in the database, so that every process and the command line agree. */
export function createLimits(platform: Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'config'>) {
  const { sql, clock, config } = platform;
  const store = createLimitStore(sql);
  const everybody = '';
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

  const stored = ({ projectId, address, user }: LimitSelection): StoredSelection => {
    if (address !== undefined) return { projectId, kind: 'address', keys: [keyOf('address', address)] };
    if (user === undefined) return { projectId };
    // Logins count by the address, given by whoever tries; guesses of the current password, or of a second factor, by the user.
    const { id, email } = user;
    const keys = [...(email ? [email.toLowerCase()] : []), ...(id === undefined ? [] : [proofKey(id)])];
    return { projectId, kind: 'account', keys };
  };

  /** Counts one call; undefined where the class has no such limit or limits are off. */
  const take = async (unit: Unit, name: LimitName, kind: LimitKind, value: string): Promise<LimitState | undefined> => {
    const rate = rateOf(name, kind);
    if (rate === undefined || (off && !attemptCaps.has(name))) return undefined;
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

  const demand = async (
    unit: Unit,
    name: LimitName,
    keys: { readonly account?: string; readonly address?: string; readonly project?: string },
  ): Promise<Failure | undefined> => {
    for (const kind of ['account', 'address', 'project'] as const) {
      const value = keys[kind];
      const state = value === undefined ? undefined : await take(unit, name, kind, value);
      if (state?.allowed === false) return new Failure('general_rate_limit_exceeded', { retryAfter: state.retryAfter });
    }
    return undefined;
  };

  return {
    jobs: [createPruning(platform)],
    take,
    /** Counts one call against what is given of account and address. Throws Failure 429 when one of them is exhausted; the count stays. */
    demand,
    /**
     * Counts a message with a code or a link: per recipient, in the short and in the long run, and for the project. The address that asks is
     * counted by the operation's own class. Returns a Failure 429 that the unit must return in turn.
     */
    demandSend: async (unit: Unit, channel: 'mail' | 'sms', recipient: string): Promise<Failure | undefined> =>
      (await demand(unit, 'send', { account: recipient })) ??
      (await demand(unit, 'send-daily', { account: recipient })) ??
      (await demand(unit, `send-${channel}`, { project: everybody })),
    /** The call turned out to be honest: an account's counter starts anew, an address gets its try back. */
    forgive: async (
      unit: Unit,
      name: LimitName,
      { account, address }: { account?: string; address?: string },
    ): Promise<void> => {
      const projectId = unit.by.projectId ?? '';
      if (account !== undefined) await unit.run(store.remove(counter(projectId, name, 'account', account)));
      const rate = rateOf(name, 'address');
      if (rate === undefined || address === undefined) return;
      await unit.run(
        store.retreat(counter(projectId, name, 'address', address), Math.ceil((rate.seconds * 1000) / rate.count)),
      );
    },
    /** Every class with the rates in force. */
    rates: (): LimitRate[] =>
      Object.entries(limitClasses).flatMap(([name, { summary, ...shipped }]) =>
        Object.entries<Rate>(shipped).map(([kind, rate]) => ({
          ...{ class: name, kind, summary, ...(config.rateLimits[name as LimitName] ?? rate) },
          counted: name === 'data' ? 'in the memory of each server process' : 'in the database',
        })),
      ),
    /** Counters that are not yet back to zero. */
    list: async (reader: Reader, selection: LimitSelection): Promise<LimitCounter[]> => {
      const now = clock.now();
      const rows = await reader.all(store.list(stored(selection), now));
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
    reset: async (unit: Unit, selection: LimitSelection): Promise<number> => {
      const counters = await unit.run(store.reset(stored(selection)));
      unit.record('limitsReset', { resource: 'limits', payload: { counters } });
      return counters;
    },
  };
}

/** The limits service. */
export type Limits = ReturnType<typeof createLimits>;
