import type { Account } from '#src/contract/account.js';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { accessGranularitySeconds, freshLoginSeconds } from '#src/contract/limits.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Device, Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import { createLookup } from '#src/platform/db/batch.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { digest, equalDigests } from '#src/platform/digest.js';
import type { Platform } from '#src/platform/index.js';
import { type Accounts, users } from '../accounts/index.js';
import { createSessionStore, type SessionRow, sessions } from './store.js';
import { toSession } from './view.js';

/** How a user came in. */
interface Login {
  readonly provider: string;
  readonly providerUid: string;
  readonly factors: readonly string[];
  readonly request: RequestFacts;
  /** The second factor, where the login came with it. */
  readonly otp?: string | undefined;
}

/** A session that was just opened. */
export interface OpenedSession {
  readonly session: Session;
  readonly secret: string;
}

const dayMs = 86_400_000;
const unknownDevice: Device = {
  ...{ osCode: '', osName: '', osVersion: '', clientType: '', clientCode: '', clientName: '', clientVersion: '' },
  ...{ clientEngine: '', clientEngineVersion: '', deviceName: '', deviceBrand: '', deviceModel: '' },
};

type Parts = Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'config'>;

/** Sessions: the one door through which every login leaves, and what ends them. */
export function createSessions({ db, sql, clock, random, config }: Parts, accounts: Accounts) {
  const store = createSessionStore(sql);
  const expiry = (project: Project, now: Instant) =>
    instantOf(millisecondsOf(now) + (project.settings['session.days'] ?? config.sessionDays) * dayMs);

  const isAlive = (session: SessionRow, project: Project): boolean => {
    if (millisecondsOf(session.expire) <= clock.now()) return false;
    const idleDays = project.settings['session.idleDays'] ?? config.sessionIdleDays ?? null;
    return idleDays === null || clock.now() - millisecondsOf(session.accessedAt) < idleDays * dayMs;
  };

  const load = async (reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, Row>> => {
    const rows = await reader.all(store.withUsers({ ids: sql.list(ids) }));
    return new Map(rows.map((row) => [String(row.id), row]));
  };
  const lookup = createLookup((ids) => load(db, ids));

  /** The session a secret stands for, with its user; undefined where there is none. */
  const resolve = async (
    find: (id: string) => Promise<Row | undefined>,
    projectId: string,
    secret: string,
  ): Promise<{ session: SessionRow; account: Account } | undefined> => {
    const [, id = '', random256 = ''] = /^ss_([0-9a-f]{20})\.([A-Za-z0-9_-]{43})$/.exec(secret) ?? [];
    const row = id === '' ? undefined : await find(id);
    if (row === undefined) return undefined;
    const session = sessions.decode(row, 'session');
    if (session.projectId !== projectId || !equalDigests(digest(random256), session.secretDigest)) return undefined;
    return { session, account: users.decode(row, 'user') };
  };

  /** The last use is kept to the hour (session) and to the day (user), so that reads stay reads. */
  const touch = async (project: Project, session: SessionRow, account: Account): Promise<void> => {
    const now = clock.now();
    const olderThan = (instant: string | null, seconds: number) =>
      instant === null || now - millisecondsOf(instant) > seconds * 1000;
    const staleSession = olderThan(session.accessedAt, accessGranularitySeconds.session);
    const staleUser = olderThan(account.accessedAt, accessGranularitySeconds.account);
    if (!staleSession && !staleUser) return;
    await db.work({ projectId: project.id, actor: { kind: 'user', id: account.id }, requestId: '' }, async (unit) => {
      if (staleSession) await unit.run(store.update(project.id, session.id, { accessedAt: unit.now }));
      if (staleUser) await accounts.touch(unit, project.id, account.id);
    });
  };

  const close = async (unit: Unit, project: Project, session: Session): Promise<void> => {
    const removed = await unit.run(store.remove({ projectId: project.id, id: session.id }));
    // Somebody else was quicker; the event is theirs.
    if (removed === 0) return;
    unit.record('sessionDeleted', recorded(session));
  };
  /** Every session of a user that has not expired, oldest first. */
  const stored = async (reader: Reader, project: Project, userId: string): Promise<SessionRow[]> => {
    const rows = await reader.all(store.active({ projectId: project.id, userId, now: instantOf(clock.now()) }));
    return rows.map((row) => sessions.decode(row));
  };
  /** Those of them that would still be accepted. */
  const active = async (reader: Reader, project: Project, userId: string): Promise<SessionRow[]> =>
    (await stored(reader, project, userId)).filter((session) => isAlive(session, project));

  /** The user of a session that was found, if it counts still. Throws Failure `user_blocked`. */
  const admit = async (
    project: Project,
    { session, account }: { readonly session: SessionRow; readonly account: Account },
    via: User['via'],
  ): Promise<User | undefined> => {
    if (!isAlive(session, project)) return undefined;
    if (!account.status) throw new Failure('user_blocked');
    if (session.endedAt !== null) return undefined;
    await touch(project, session, account);
    return { kind: 'user', id: account.id, account, session, via };
  };

  return {
    /** The user behind a session secret, or undefined where the secret stands for nothing. Throws Failure `user_blocked`. */
    authenticate: async (project: Project, secret: string, via: User['via']): Promise<User | undefined> => {
      const found = await resolve(lookup, project.id, secret);
      return found && admit(project, found, via);
    },
    /** The same for a JWT, which names its session and is proof of it; a login that lacks its second factor has none. */
    authenticateById: async (project: Project, userId: string, id: string): Promise<User | undefined> => {
      const row = await lookup(id);
      if (row === undefined) return undefined;
      const session = sessions.decode(row, 'session');
      if (session.projectId !== project.id || session.userId !== userId || session.pending) return undefined;
      return admit(project, { session, account: users.decode(row, 'user') }, 'jwt');
    },
    /**
     * Opens a session: refuses blocked users, ends the session the same browser held, and the oldest beyond the project's limit.
     * The caller has proved who the user is. A Failure must be returned by the unit in turn, so that what was counted stays.
     */
    open: async (unit: Unit, project: Project, account: Account, login: Login): Promise<OpenedSession | Failure> => {
      // Updating the user first makes parallel logins of one user wait for each other, so that the limit holds.
      if (!(await accounts.touch(unit, project.id, account.id))) throw new Failure('user_invalid_credentials');
      const presented = login.request.presentedSession;
      const previous =
        presented === null
          ? undefined
          : await resolve(async (sid) => (await load(unit, [sid])).get(sid), project.id, presented);
      if (previous !== undefined && previous.session.endedAt === null) await close(unit, project, previous.session);
      const others = await active(unit, project, account.id);
      const surplus = others.length + 1 - project.settings['session.limit'];
      for (const oldest of others.slice(0, Math.max(0, surplus))) await close(unit, project, oldest);

      const id = random.id();
      const secret = random.secret();
      const session: SessionRow = {
        id,
        projectId: project.id,
        userId: account.id,
        secretDigest: digest(secret),
        expire: expiry(project, unit.now),
        provider: login.provider,
        providerUid: login.providerUid,
        factors: login.factors,
        ip: login.request.ip,
        device: unknownDevice,
        authenticatedAt: unit.now,
        mfaUpdatedAt: null,
        accessedAt: unit.now,
        endedAt: null,
        pending: false,
        createdAt: unit.now,
        updatedAt: unit.now,
      };
      await unit.run(store.insert(session));
      unit.record('sessionCreated', recorded(session));
      return { session, secret: `ss_${id}.${secret}` };
    },
    active,
    /** Throws Failure `user_session_not_found` where the user has no such session. */
    get: async (reader: Reader, project: Project, userId: string, id: string): Promise<Session> => {
      const found = (await active(reader, project, userId)).find((session) => session.id === id);
      if (found === undefined) throw new Failure('user_session_not_found');
      return found;
    },
    /** Gives a session a full life from now. */
    extend: async (unit: Unit, project: Project, session: Session): Promise<Session> => {
      const change = { expire: expiry(project, unit.now), updatedAt: unit.now };
      await unit.run(store.update(project.id, session.id, change));
      const extended = { ...session, ...change };
      unit.record('sessionUpdated', recorded(extended));
      return extended;
    },
    close,
    /** Ends every session of a user but one. */
    closeAll: async (unit: Unit, project: Project, userId: string, exceptId?: string): Promise<void> => {
      for (const session of await stored(unit, project, userId)) {
        if (session.id !== exceptId) await close(unit, project, session);
      }
    },
    /** Ends every session of a user and keeps the rows: while the block lasts their holders are told `user_blocked`. */
    endAll: async (unit: Unit, project: Project, userId: string): Promise<void> => {
      for (const session of await stored(unit, project, userId)) {
        await unit.run(store.update(project.id, session.id, { endedAt: unit.now }));
        unit.record('sessionDeleted', recorded(session));
      }
    },
    /** Throws Failure `user_challenge_required` where the last login or challenge is older than 20 minutes. */
    demandFresh: (session: Session): void => {
      const proved = Math.max(
        millisecondsOf(session.authenticatedAt),
        session.mfaUpdatedAt === null ? 0 : millisecondsOf(session.mfaUpdatedAt),
      );
      if (clock.now() - proved > freshLoginSeconds * 1000) throw new Failure('user_challenge_required');
    },
  };
}

/** The sessions service. */
export type Sessions = ReturnType<typeof createSessions>;

/** Stands where a token was made for a user without a session; it proves nothing, so it is never fresh. */
export function noSession(userId: string): Session {
  const never = instantOf(0);
  return {
    ...{ id: '', userId, provider: '', providerUid: '', factors: [], ip: '', device: unknownDevice, pending: false },
    ...{ createdAt: never, updatedAt: never, expire: never, authenticatedAt: never, accessedAt: never },
    mfaUpdatedAt: null,
  };
}

/** What is recorded with a change of a session. */
export function recorded(session: Session) {
  return {
    resource: `users/${session.userId}/sessions/${session.id}`,
    userId: session.userId,
    payload: toSession(session, undefined),
  };
}
