import type { UserRecord, UserTarget } from '#src/contract/user.js';
import type { Random } from '#src/platform/crypto/random.js';
import type { Unit } from '#src/platform/db/unit.js';

/** Input for a new user; `passwordHash` comes from `hashPassword`. */
export interface NewUser {
  readonly id: string;
  readonly email: string | null;
  readonly phone?: string | null;
  readonly name: string;
  readonly passwordHash: string | null;
  readonly locale?: string | null;
  /** Members of an imported user. */
  readonly imported?: ImportedMembers | undefined;
}

/** Members that an imported user brings along. */
export type ImportedMembers = Partial<
  Pick<
    UserRecord,
    | 'createdAt'
    | 'status'
    | 'labels'
    | 'prefs'
    | 'emailVerification'
    | 'phoneVerification'
    | 'mfa'
    | 'accessedAt'
    | 'passwordUpdate'
  >
>;

/** Builds the record of a new user without storing it. */
export function newUser(
  unit: Unit,
  random: Random,
  { email, phone = null, passwordHash, imported, ...input }: NewUser,
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
    // An account without both is marked as one that an operator or a key has made.
    emailVouched: (email !== null || phone === null) && isVouching(unit),
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
    ...imported,
  };
}

/** Builds the target of a user's address or number. */
export function newTarget(
  { now }: Unit,
  random: Random,
  providerType: 'email' | 'sms',
  identifier: string,
): UserTarget {
  return { id: random.id(), createdAt: now, updatedAt: now, providerType, identifier };
}

/** True if a server key or an operator makes the change, imports included. They vouch for the address or number. */
export function isVouching({ by }: Unit): boolean {
  return by.actor.kind === 'key' || by.actor.kind === 'operator';
}

/** True if the user signed up: no server key, operator or import has created the account or set its address or number. */
export function isSelfMade({ emailVouched, phoneVouched }: UserRecord): boolean {
  return !emailVouched && !phoneVouched;
}

/** The audit record of a change of an account. */
export function accountRecord<T extends object>(userId: string, payload?: T) {
  return { resource: `users/${userId}`, userId, payload: { userId, ...(payload as T) } };
}

/** The audit record of a refused proof of identity; `userId` is undefined if the user is unknown. */
export function refusalRecord<T extends object>(userId: string | undefined, payload: T) {
  return userId === undefined ? { resource: 'users', payload } : { resource: `users/${userId}`, userId, payload };
}

/** True if the account has no email address, phone number or password. */
export function isAnonymous({ email, phone, passwordHash }: UserRecord): boolean {
  return email === null && phone === null && passwordHash === null;
}
