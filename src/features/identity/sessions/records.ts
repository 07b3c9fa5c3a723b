import { pendingSeconds, sessionMaxDays } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { instantOf, isRunning, millisecondsOf } from '#src/platform/clock.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import { digest, equalDigests } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { Lru } from '#src/platform/lru.js';
import { userTable } from '../users/index.js';
import { type SessionRow, type SessionStore, sessions } from './store.js';
import { toSession } from './view.js';

/** A session's secret as its holder sends it. */
export const secretText = (id: string, random256: string) => `ss_${id}.${random256}`;

const dayMs = 86_400_000;

/** Decoded rows that are kept. */
const decodedRows = { bytes: 16_777_216, entries: 5000, largest: 262_144 } as const;

/** A session that was decoded, and the texts of its row. */
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

/** Reads sessions, and knows how long each lives. */
export function createSessionReader(
  { sql, clock, config }: Pick<Runtime, 'sql' | 'clock' | 'config'>,
  store: SessionStore,
) {
  /** A full life from now, but never past the longest life from the beginning. */
  const expiry = ({ settings }: Project, now: Instant, createdAt: Instant) =>
    instantOf(
      Math.min(
        millisecondsOf(now) + (settings['session.days'] ?? config.sessionDays) * dayMs,
        millisecondsOf(createdAt) + settings['session.maxDays'] * dayMs,
      ),
    );

  const isAlive = (session: SessionRow, project: Project): boolean => {
    const longestMs = session.pending ? pendingSeconds.session * 1000 : sessionMaxDays * dayMs;
    if (!isRunning(session.expire, clock.now(), longestMs)) return false;
    const idleDays = project.settings['session.idleDays'] ?? config.sessionIdleDays ?? null;
    return idleDays === null || clock.now() - millisecondsOf(session.accessedAt) < idleDays * dayMs;
  };

  const cache = new Lru<DecodedRow>(decodedRows);
  /** Decodes a row, unless it is the one that was decoded for this session before: most requests find their session as it was. */
  const decode = (id: string, row: Row): StoredSession => {
    const [sessionText, userText] = [String(row.session), String(row.user)];
    const before = cache.get(id);
    if (before?.sessionText === sessionText && before.userText === userText) return before.stored;
    const stored = { session: sessions.decode(row, 'session'), account: userTable.decode(row, 'user') };
    // What was decoded takes about as much again as its texts, twice.
    cache.set(id, { sessionText, userText, stored }, 4 * (sessionText.length + userText.length));
    return stored;
  };
  const load = async (reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSession>> => {
    const rows = await reader.all({ ...store.withUsers({ ids: sql.list(ids) }), allText: true });
    return new Map(rows.map((row) => [String(row.id), decode(String(row.id), row)]));
  };

  /** The session a secret stands for, with its user; undefined where there is none. */
  const resolve = async (
    find: (id: string) => Promise<StoredSession | undefined>,
    projectId: string,
    secret: string,
  ): Promise<StoredSession | undefined> => {
    const [, id = '', random256 = ''] = /^ss_([0-9a-f]{20})\.([A-Za-z0-9_-]{43})$/.exec(secret) ?? [];
    const found = id === '' ? undefined : await find(id);
    if (found === undefined) return undefined;
    const { session } = found;
    const isRight = session.projectId === projectId && equalDigests(digest(random256), session.secretDigest);
    return isRight ? found : undefined;
  };

  /** Every session of a user that has not expired, oldest first. */
  const stored = async (reader: Reader, project: Project, userId: string): Promise<SessionRow[]> => {
    const rows = await reader.all(store.active({ projectId: project.id, userId, now: instantOf(clock.now()) }));
    return rows.map((row) => sessions.decode(row));
  };
  /** Those of them that would still be accepted, and lack nothing. */
  const active = async (reader: Reader, project: Project, userId: string): Promise<SessionRow[]> =>
    (await stored(reader, project, userId)).filter((session) => isAlive(session, project) && !session.pending);
  const pending = async (reader: Reader, project: Project, userId: string): Promise<SessionRow[]> =>
    (await stored(reader, project, userId)).filter((session) => session.pending);

  return { expiry, isAlive, load, resolve, stored, active, pending };
}

/** Reads of sessions. */
export type SessionReader = ReturnType<typeof createSessionReader>;

/** What is recorded with a change of a session. */
export function recorded(session: Session) {
  return {
    resource: `users/${session.userId}/sessions/${session.id}`,
    userId: session.userId,
    payload: toSession(session, undefined),
  };
}
