import { everyEvent, subscribableEvents } from '#src/contract/events.js';
import { permissionList } from '#src/contract/permissions.js';
import type { ExportedUser, ImportedDocument } from '#src/features/index.js';
import type { ProjectFile } from '../project-file/file.js';

/** A request to the API of Appwrite. The receiver answers 409 if it was sent before. */
export interface ApiRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  /** Number of the line that creates the document, counted from 0. */
  readonly of?: number;
  /** Members for a receiver that refuses those of `body`. */
  readonly orElse?: Readonly<Record<string, unknown>>;
  /** The last member: the sender cuts its text out of the line. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Parts that no request can carry. */
export interface LostParts {
  /** Users whose hash Appwrite cannot verify. */
  passwords: number;
  authenticatorApps: number;
  identities: number;
  /** Permissions for a member, whose id the API chooses itself, and invalid ones. */
  permissions: number;
}

const post = (path: string, body: ApiRequest['body']): ApiRequest => ({ method: 'POST', path, body });

/** The requests that create a user, by the route of its kind of hash. Counts the parts without a request. */
export function userRequests({ user, password, totp, identities }: ExportedUser, lost: LostParts): ApiRequest[] {
  const { id, email, phone, name } = user;
  const path = `/users/${id}`;
  const hashed = email === null ? undefined : hashOf(password);
  if (password !== undefined && hashed === undefined) lost.passwords += 1;
  if (totp !== undefined) lost.authenticatorApps += 1;
  lost.identities += identities.length;
  const person = { userId: id, name, $createdAt: user.createdAt };
  const contacts = { ...(email === null ? {} : { email }), ...(phone === null ? {} : { phone }) };
  const patch = (part: string, body: ApiRequest['body']): ApiRequest => ({
    method: 'PATCH',
    path: `${path}/${part}`,
    body,
  });
  return [
    hashed === undefined
      ? post('/users', { ...person, ...contacts })
      : post(`/users/${hashed.route}`, { ...person, email, ...hashed.body }),
    ...(hashed !== undefined && phone !== null ? [patch('phone', { number: phone })] : []),
    ...(user.emailVerification ? [patch('verification', { emailVerification: true })] : []),
    ...(user.phoneVerification ? [patch('verification/phone', { phoneVerification: true })] : []),
    ...(user.labels.length === 0
      ? []
      : [{ method: 'PUT' as const, path: `${path}/labels`, body: { labels: user.labels } }]),
    ...(Object.keys(user.prefs).length === 0 ? [] : [patch('prefs', { prefs: user.prefs })]),
    ...(user.status ? [] : [patch('status', { status: false })]),
    ...(user.mfa ? [patch('mfa', { mfa: true })] : []),
  ];
}

/** The route and the body for a hash; undefined if Appwrite cannot verify it. */
function hashOf(described: ExportedUser['password']) {
  if (described === undefined) return undefined;
  const { hash: password, algorithm, options } = described;
  const body = (names: readonly string[]) => ({
    password,
    ...Object.fromEntries(names.map((name) => [`password${name[0]?.toUpperCase()}${name.slice(1)}`, options[name]])),
  });
  switch (algorithm) {
    case 'bcrypt':
    case 'argon2':
    case 'md5':
    case 'phpass':
      return { route: algorithm, body: { password } };
    case 'sha':
      return { route: algorithm, body: body(['version']) };
    case 'scrypt':
      // The hashes of svc have a format of their own.
      if (options.salt === undefined) return undefined;
      return { route: algorithm, body: body(['salt', 'cpu', 'memory', 'parallel', 'length']) };
    case 'scrypt-modified':
      return { route: algorithm, body: body(['salt', 'saltSeparator', 'signerKey']) };
    default:
      return undefined;
  }
}

/** Returns the permissions that the receiver understands, and counts the others. */
export function sentPermissions(permissions: readonly string[], lost: LostParts): string[] {
  const sent = permissions.filter(
    (permission) => permissionList.element.safeParse(permission).success && !permission.includes('("member:'),
  );
  lost.permissions += permissions.length - sent.length;
  return sent;
}

/** The request that creates a document. */
export function documentRequest(
  path: string,
  { id, permissions = [], data, createdAt, updatedAt }: ImportedDocument,
  lost: LostParts,
): ApiRequest {
  const times = { $createdAt: createdAt, $updatedAt: updatedAt };
  return post(path, { documentId: id, data: { ...data, ...times }, permissions: sentPermissions(permissions, lost) });
}

/**
 * The request that sets the relationships of a document, which line `of` creates; undefined if it has none. The time of the last change stays.
 */
export function relationRequest(
  path: string,
  id: string,
  of: number,
  relations: Readonly<Record<string, unknown>>,
  updatedAt: string,
): ApiRequest | undefined {
  const linked = Object.entries(relations).filter(([, value]) => value !== null && [value].flat().length > 0);
  if (linked.length === 0) return undefined;
  const data = { ...Object.fromEntries(linked), $updatedAt: updatedAt };
  return { method: 'PATCH', path: `${path}/${id}`, of, body: { data } };
}

/** Appwrite's names of the events. */
const appwriteEvents: Readonly<Record<(typeof subscribableEvents)[number], string>> = {
  documentCreated: 'databases.*.collections.*.documents.*.create',
  documentUpdated: 'databases.*.collections.*.documents.*.update',
  documentDeleted: 'databases.*.collections.*.documents.*.delete',
  fileCreated: 'buckets.*.files.*.create',
  fileDeleted: 'buckets.*.files.*.delete',
  sessionCreated: 'users.*.sessions.*.create',
  sessionDeleted: 'users.*.sessions.*.delete',
};

/** The request that creates a webhook, disabled, so that not both products send. Appwrite has no name for all events. */
export function webhookRequest(webhook: NonNullable<ProjectFile['webhooks']>[number]): ApiRequest {
  const { $id, name, url, events, tls, authUsername } = webhook;
  const all = events.includes(everyEvent);
  const named = subscribableEvents
    .filter((event) => all || events.includes(event))
    .map((event) => appwriteEvents[event]);
  const access = authUsername === undefined ? {} : { authUsername };
  const body = { webhookId: $id, name, url, events: named, enabled: false, tls, ...access };
  return { method: 'POST', path: '/webhooks', orElse: { events }, body };
}
