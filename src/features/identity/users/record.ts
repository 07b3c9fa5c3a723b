import type { Target, UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Random } from '#src/platform/random.js';

/** What a new user is made of; the hash comes from `hashPassword`. */
export interface NewUser {
  readonly id: string;
  readonly email: string | null;
  readonly phone?: string | null;
  readonly name: string;
  readonly passwordHash: string | null;
  readonly locale?: string | null;
}

/** A new user, which is not stored yet. */
export function newUser(
  unit: Unit,
  random: Random,
  { email, phone = null, passwordHash, ...input }: NewUser,
): UserRecord {
  const { now } = unit;
  return {
    id: input.id,
    createdAt: now,
    updatedAt: now,
    name: input.name,
    status: true,
    labels: [],
    email,
    phone,
    emailVerification: false,
    phoneVerification: false,
    emailVouched: email !== null && isVouching(unit),
    phoneVouched: phone !== null && isVouching(unit),
    mfa: false,
    prefs: {},
    passwordHash,
    passwordUpdate: passwordHash === null ? null : now,
    accessedAt: now,
    locale: input.locale ?? null,
    memberships: [],
    targets: [
      ...(email === null ? [] : [newTarget(unit, random, 'email', email)]),
      ...(phone === null ? [] : [newTarget(unit, random, 'sms', phone)]),
    ],
  };
}

/** A target for an address or a number of a user. */
export function newTarget({ now }: Unit, random: Random, providerType: 'email' | 'sms', identifier: string): Target {
  return { id: random.id(), createdAt: now, updatedAt: now, providerType, identifier };
}

/** Whether a server key or an operator sets what the unit sets, imports included: they answer for an address or a number. */
export function isVouching({ by }: Unit): boolean {
  return by.actor.kind === 'key' || by.actor.kind === 'operator';
}

/** Whether nothing but a session leads to the account. */
export function isAnonymous({ email, phone, passwordHash }: UserRecord): boolean {
  return email === null && phone === null && passwordHash === null;
}
