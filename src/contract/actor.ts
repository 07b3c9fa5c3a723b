import type { Session } from './session.js';
import type { Instant } from './shapes.js';
import type { UserRecord } from './user.js';

/** What a server key may be allowed to do; docs/scopes.md lists them and a test compares. */
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
] as const;

/** One permission of a server key. */
export type Scope = (typeof scopes)[number];

/** Nobody in particular. */
export interface Guest {
  readonly kind: 'guest';
  /** Set where the caller sent a session that is not valid or has ended. */
  readonly endedSession?: true;
}

/** An end user, known by a session or by a JWT made from one. */
export interface User {
  readonly kind: 'user';
  readonly id: string;
  readonly account: UserRecord;
  readonly session: Session;
  /** How the credential travelled; a cookie needs the cross-site checks, and a JWT does not open everything. */
  readonly via: 'cookie' | 'header' | 'jwt';
  /** The id of the server key that acts for the user, by a JWT that it has made. */
  readonly actingKey?: string;
  /** When the JWT ends, in seconds since the Unix epoch. */
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

/** Whether a server key has a scope; `all` stands for every one. */
export function hasScope({ scopes: granted }: Pick<ServerKey, 'scopes'>, scope: Scope): boolean {
  return granted.includes(scope) || granted.includes('all');
}

/** Somebody with a shell on the machine. */
export interface Operator {
  readonly kind: 'operator';
  readonly id: string;
}

/** The caller of an operation. */
export type Actor = Guest | User | ServerKey | Operator;

/** The kinds of actor that reach operations over the wire. */
export type WireActor = Guest | User | ServerKey;
