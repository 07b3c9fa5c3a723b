import type { Instant } from './shapes.js';

/** An address for sending messages to a user. */
export interface UserTarget {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly providerType: 'email' | 'sms' | 'push';
  readonly identifier: string;
  /** Name and provider set by a server key. */
  readonly name?: string;
  readonly providerId?: string;
}

/** A team that a user has joined. */
export interface UserMembership {
  readonly id: string;
  readonly teamId: string;
  readonly roles: readonly string[];
  readonly joined: Instant;
}

/** An end user of a project. */
export interface UserRecord {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly name: string;
  /** False while the user is blocked. */
  readonly status: boolean;
  readonly labels: readonly string[];
  readonly email: string | null;
  readonly phone: string | null;
  readonly emailVerification: boolean;
  readonly phoneVerification: boolean;
  /** True if a server key, an operator or an import has set the address or number; it is then trusted even if it is not verified. */
  readonly emailVouched: boolean;
  readonly phoneVouched: boolean;
  readonly mfa: boolean;
  readonly prefs: Readonly<Record<string, unknown>>;
  /** The password hash, sealed; null while the user has no password. */
  readonly passwordHash: string | null;
  readonly passwordUpdate: Instant | null;
  readonly accessedAt: Instant | null;
  readonly targets: readonly UserTarget[];
  /** The language of the user's last request, as a BCP 47 tag. */
  readonly locale: string | null;
  /** Teams joined; stored with the user, so that no request needs a further query. */
  readonly memberships: readonly UserMembership[];
}
