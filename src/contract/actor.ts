import type { Session } from './session.js';
import type { Instant } from './shapes.js';
import type { UserRecord } from './user.js';

/** Scopes of server keys; a test compares them with docs/scopes.md. */
export const scopes = [
  'users.read',
  'users.write',
  'sessions.read',
  'sessions.write',
  'teams.read',
  'teams.write',
  'platforms.read',
  'platforms.write',
  'databases.read',
  'databases.write',
  'collections.read',
  'collections.write',
  'attributes.read',
  'attributes.write',
  'indexes.read',
  'indexes.write',
  'documents.read',
  'documents.write',
  'buckets.read',
  'buckets.write',
  'files.read',
  'files.write',
  'tokens.read',
  'tokens.write',
  'webhooks.read',
  'webhooks.write',
  'audit.read',
  'events.read',
  'locale.read',
  'avatars.read',
  'health.read',
] as const;

/** One permission of a server key. */
export type Scope = (typeof scopes)[number];

/** A caller without credentials. */
export interface Guest {
  readonly kind: 'guest';
  /** Set if the caller sent a session that is invalid or has ended. */
  readonly endedSession?: true;
}

/** An end user, authenticated by a session or by a JWT made from one. */
export interface User {
  readonly kind: 'user';
  readonly id: string;
  readonly account: UserRecord;
  readonly session: Session;
  /** Source of the credential. A cookie requires cross-site checks, and some operations refuse a JWT. */
  readonly via: 'cookie' | 'header' | 'jwt';
  /** The id of the server key that acts for the user, with a JWT it has made. */
  readonly actingKey?: string;
  /** Expiry of the JWT, in seconds since the Unix epoch. */
  readonly expires?: number;
}

/** An application's own backend. */
export interface ServerKey {
  readonly kind: 'key';
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expire: Instant | null;
}

/** True if a server key has a scope; `all` includes every scope. */
export function hasScope({ scopes: granted }: Pick<ServerKey, 'scopes'>, scope: Scope): boolean {
  return granted.includes(scope) || granted.includes('all');
}

/** A person with a shell on the machine. */
export interface Operator {
  readonly kind: 'operator';
  readonly id: string;
}

/** The caller of an operation. */
export type Actor = Guest | User | ServerKey | Operator;

/** The kinds of actor that call operations over HTTP. */
export type WireActor = Guest | User | ServerKey;
