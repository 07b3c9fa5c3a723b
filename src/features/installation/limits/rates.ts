import { type LimitClass, type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { addressKey } from '#src/platform/limiter.js';
import type { CounterKey, CounterRow, Window } from './store.js';

/** What a counter counts, in the order in which it is asked. */
export const limitKinds = ['account', 'address', 'project'] as const;
/** What a counter counts. */
export type LimitKind = (typeof limitKinds)[number];

/** Classes that keep somebody from guessing a code; they count even where limits are off. */
const attemptCaps: ReadonlySet<LimitName> = new Set(['mfa']);

/** Under what wrong guesses of a user's second factor, or of a signed-in user's current password, are counted. */
export function proofKey(userId: string): string {
  return `user:${userId}`;
}

/** The window of a rate. */
export function windowOf({ count, seconds }: Rate): Window {
  const intervalMs = Math.ceil((seconds * 1000) / count);
  return { intervalMs, windowMs: intervalMs * count };
}

/** The key of a counter. An IPv6 address counts by its network. */
export function counterKey(projectId: string, name: LimitName, kind: LimitKind, value: string): CounterKey {
  return { projectId, class: name, kind, key: kind === 'address' ? addressKey(value) : value };
}

/** The rates in force: those of the configuration, else those of the contract. */
export function createRates({ config }: Pick<Runtime, 'config'>) {
  const rateOf = (name: LimitName, kind: LimitKind): Rate | undefined => {
    const shipped: LimitClass = limitClasses[name];
    return shipped[kind] === undefined ? undefined : (config.rateLimits[name] ?? shipped[kind]);
  };
  return {
    rateOf,
    /** The rate of a stored counter; one of a class that no longer exists counts for a second. */
    rateOfRow: (row: CounterRow): Rate =>
      (row.class in limitClasses ? rateOf(row.class as LimitName, row.kind as LimitKind) : undefined) ?? {
        count: 1,
        seconds: 1,
      },
    /** Whether calls of the class are not counted. */
    isOff: (name: LimitName): boolean => config.rateLimit === 'off' && !attemptCaps.has(name),
  };
}

/** The rates in force. */
export type Rates = ReturnType<typeof createRates>;
