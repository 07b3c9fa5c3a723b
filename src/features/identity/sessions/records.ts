import { pendingSeconds, sessionMaxDays } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { Lru } from '#src/platform/cache/lru.js';
import { digest, equalDigests } from '#src/platform/crypto/digest.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, isRunning, millisecondsOf } from '#src/platform/runtime/clock.js';
import { userTable } from '../users/index.js';
import { type SessionRow, type SessionStore, sessions } from './store.js';
import { toSession } from './view.js';

/** The session secret in the form that clients send. */
export const sessionSecretOf = (id: string, random256: string) => `ss_${id}.${random256}`;

const dayMs = 86_400_000;

/** Limits of the cache of decoded rows. */
const decodedRows = { bytes: 16_777_216, entries: 5000, largest: 262_144 } as const;

/** A decoded session with the row text it was decoded from. */
interface DecodedRow {
  readonly sessionText: string;
  readonly userText: string;
  readonly stored: StoredSession;
}

/** A session with its user, as stored. */
export interface StoredSession {
  readonly session: SessionRow;
  readonly account: UserRecord;
}

/** Reads of sessions. */
export interface SessionReader {
  /** A full lifetime from now, but not beyond the maximum lifetime since the start or the end set by the identity provider. */
  expiry(project: Project, now: Instant, session: Pick<Session, 'createdAt' | 'endsBy'>): string;
  isAlive(session: SessionRow, project: Project): boolean;
  load(reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSession>>;
  /** The session of a secret with its user; undefined if there is none. */
  resolve(
    find: (id: string) => Promise<StoredSession | undefined>,
    projectId: string,
    secret: string,
  ): Promise<StoredSession | undefined>;
  /** All sessions of a user that have not expired, oldest first. */
  stored(reader: Reader, project: Project, userId: string): Promise<SessionRow[]>;
  /** Sessions of a user that are still accepted and not pending. */
  active(reader: Reader, project: Project, userId: string): Promise<SessionRow[]>;
  pending(reader: Reader, project: Project, userId: string): Promise<SessionRow[]>;
}

interface Deps extends Pick<Runtime, 'clock' | 'config'> {
  readonly store: SessionStore;
  readonly cache: Lru<DecodedRow>;
}

/** Reads sessions and computes their expiry. */
export function createSessionReader(
  { clock, config }: Pick<Runtime, 'clock' | 'config'>,
  store: SessionStore,
): SessionReader {
  const deps: Deps = { clock, config, store, cache: new Lru<DecodedRow>(decodedRows) };
  return { resolve, ...bind(deps, { expiry, isAlive, load, stored, active, pending }) };
}

function expiry(
  { config }: Deps,
  { settings }: Project,
  now: Instant,
  { createdAt, endsBy }: Pick<Session, 'createdAt' | 'endsBy'>,
): Instant {
  return instantOf(
    Math.min(
      ...(endsBy === null ? [] : [millisecondsOf(endsBy)]),
      millisecondsOf(now) + (settings['session.days'] ?? config.sessionDays) * dayMs,
      millisecondsOf(createdAt) + settings['session.maxDays'] * dayMs,
    ),
  );
}

function isAlive({ clock, config }: Deps, session: SessionRow, project: Project): boolean {
  const longestMs = session.pending ? pendingSeconds.session * 1000 : sessionMaxDays * dayMs;
  if (!isRunning(session.expire, clock.now(), longestMs)) return false;
  const idleDays = project.settings['session.idleDays'] ?? config.sessionIdleDays ?? null;
  return idleDays === null || clock.now() - millisecondsOf(session.accessedAt) < idleDays * dayMs;
}

async function load({ store, cache }: Deps, reader: Reader, ids: readonly string[]) {
  const rows = await reader.all({ ...store.withUsers(ids), allText: true });
  return new Map(rows.map((row) => [String(row.id), decode(cache, String(row.id), row)]));
}

/** Decodes a row, or returns the cached result if the row is unchanged, as for most requests. */
function decode(cache: Lru<DecodedRow>, id: string, row: Row): StoredSession {
  const [sessionText, userText] = [String(row.session), String(row.user)];
  const before = cache.get(id);
  if (before?.sessionText === sessionText && before.userText === userText) return before.stored;
  const stored = { session: sessions.decode(row, 'session'), account: userTable.decode(row, 'user') };
  // Texts take two bytes per character, and the decoded values about as much.
  cache.set(id, { sessionText, userText, stored }, 4 * (sessionText.length + userText.length));
  return stored;
}

async function resolve(
  find: (id: string) => Promise<StoredSession | undefined>,
  projectId: string,
  secret: string,
): Promise<StoredSession | undefined> {
  const [, id = '', random256 = ''] = /^ss_([0-9a-f]{20})\.([A-Za-z0-9_-]{43})$/.exec(secret) ?? [];
  const found = id === '' ? undefined : await find(id);
  if (found === undefined) return undefined;
  const { session } = found;
  const isRight = session.projectId === projectId && equalDigests(digest(random256), session.secretDigest);
  return isRight ? found : undefined;
}

async function stored({ clock, store }: Deps, reader: Reader, project: Project, userId: string) {
  const rows = await reader.all(store.active({ projectId: project.id, userId, now: instantOf(clock.now()) }));
  return rows.map((row) => sessions.decode(row));
}

async function active(deps: Deps, reader: Reader, project: Project, userId: string): Promise<SessionRow[]> {
  const found = await stored(deps, reader, project, userId);
  return found.filter((session) => isAlive(deps, session, project) && !session.pending);
}

async function pending(deps: Deps, reader: Reader, project: Project, userId: string): Promise<SessionRow[]> {
  return (await stored(deps, reader, project, userId)).filter((session) => session.pending);
}

/** The common part of the audit records about a session. */
export function sessionRecord(session: Session) {
  return {
    resource: `users/${session.userId}/sessions/${session.id}`,
    userId: session.userId,
    payload: toSession(session, undefined),
  };
}
