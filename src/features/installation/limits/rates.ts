import { type LimitClass, type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { addressKey } from '#src/platform/limiter.js';
import type { CounterKey, CounterRow, Window } from './store.js';

/** What a counter counts, in the order in which it is asked. */
export const limitKinds = ['account', 'address', 'anyone', 'project'] as const;
/** What a counter counts. */
export type LimitKind = (typeof limitKinds)[number];

/** Classes that keep somebody from guessing a code; they count even where limits are off. */
const attemptCaps: ReadonlySet<LimitName> = new Set(['mfa']);

/** Under what wrong guesses of a user's second factor, or of a signed-in user's current password, are counted. */
export function proofKey(userId: string): string {
  return `user:${userId}`;
}

/** Under what the codes of a user's second factor are counted: nobody but who has given another factor moves it. */
export function challengeKey(userId: string, channel: 'mail' | 'sms'): string {
  return `challenge:${channel}:${userId}`;
}

/** Under what the links that set a new password are counted, apart from all else that strangers can have sent to the address. */
export function recoveryKey(email: string): string {
  return `recovery:${email}`;
}

/** Under what the mails are counted that tell the holder of an address that somebody has signed up with it. */
export function accountExistsKey(email: string): string {
  return `account-exists:${email}`;
}

/** Under what the mails are counted that invite a user by id: a count by address would tell whose it is. */
export function invitedKey(userId: string): string {
  return `invited:${userId}`;
}

/** Every key under which something is counted for a user. */
export function keysOfUser(userId: string | undefined, contacts: readonly string[]): string[] {
  const ofUser =
    userId === undefined
      ? []
      : [userId, proofKey(userId), challengeKey(userId, 'mail'), challengeKey(userId, 'sms'), invitedKey(userId)];
  return [...ofUser, ...contacts.flatMap((contact) => [contact, recoveryKey(contact), accountExistsKey(contact)])];
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
  const rateOf = (name: LimitName, kind: keyof Omit<LimitClass, 'summary'>): Rate | undefined => {
    const shipped: LimitClass = limitClasses[name];
    const [rate, given] = [shipped[kind], config.rateLimits[name]];
    if (rate === undefined || given === undefined) return rate;
    if (kind !== 'anyone' || shipped.project === undefined) return given;
    // The same part of the rate that is configured.
    return { ...given, count: Math.max(1, Math.round((given.count * rate.count) / shipped.project.count)) };
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
