import { type LimitClass, type LimitName, limitClasses, type Rate } from '#src/contract/limits.js';
import { addressKey } from '#src/platform/admission/limiter.js';
import type { Runtime } from '#src/platform/index.js';
import type { CounterKey, CounterRow, Window } from './store.js';

/** Kinds of counters, in the order of the checks. */
export const limitKinds = ['account', 'address', 'anyone', 'project'] as const;
/** The kind of a counter. */
export type LimitKind = (typeof limitKinds)[number];

/** Classes that prevent guessing of codes. They count even if rate limits are off. */
const attemptCaps: ReadonlySet<LimitName> = new Set(['mfa']);

/** Key for wrong second factors of a user, and wrong current passwords of a signed-in user. */
export function proofKey(userId: string): string {
  return `user:${userId}`;
}

/** Key for second-factor codes sent to a user. Only a caller who has proved another factor can advance this counter. */
export function challengeKey(userId: string, channel: 'mail' | 'sms'): string {
  return `challenge:${channel}:${userId}`;
}

/** Key for password recovery links. Separate from other messages that strangers can have sent to the address. */
export function recoveryKey(email: string): string {
  return `recovery:${email}`;
}

/** Key for mails about a sign-up with an address that already has an account. */
export function accountExistsKey(email: string): string {
  return `account-exists:${email}`;
}

/** Key for invitations of a user by id. A count by address would reveal the user's address. */
export function invitedKey(userId: string): string {
  return `invited:${userId}`;
}

/** All keys of a user's counters. */
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

/** The key of a counter. IPv6 addresses are counted by network. */
export function counterKey(projectId: string, name: LimitName, kind: LimitKind, value: string): CounterKey {
  return { projectId, class: name, kind, key: kind === 'address' ? addressKey(value) : value };
}

/** The rates in force. */
export interface Rates {
  rateOf(name: LimitName, kind: keyof Omit<LimitClass, 'summary'>): Rate | undefined;
  /** The rate of a stored counter. For a class that no longer exists, one call per second. */
  rateOfRow(row: CounterRow): Rate;
  /** True if calls of the class are not counted. */
  isOff(name: LimitName): boolean;
}

/** Rates in force: from the configuration, else the defaults of the contract. */
export function createRates({ config }: Pick<Runtime, 'config'>): Rates {
  const rateOf = (name: LimitName, kind: keyof Omit<LimitClass, 'summary'>): Rate | undefined => {
    const shipped: LimitClass = limitClasses[name];
    const [rate, given] = [shipped[kind], config.rateLimits[name]];
    if (rate === undefined || given === undefined) return rate;
    if (kind !== 'anyone' || shipped.project === undefined) return given;
    // Scales the configured rate like the default: same ratio to the project's rate.
    return { ...given, count: Math.max(1, Math.round((given.count * rate.count) / shipped.project.count)) };
  };
  return {
    rateOf,
    rateOfRow: (row) =>
      (row.class in limitClasses ? rateOf(row.class as LimitName, row.kind as LimitKind) : undefined) ?? {
        count: 1,
        seconds: 1,
      },
    isOff: (name) => !config.rateLimit && !attemptCaps.has(name),
  };
}
