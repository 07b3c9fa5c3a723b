import type { Account } from '#src/contract/account.js';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { accessGranularitySeconds, freshLoginSeconds, pendingSeconds } from '#src/contract/limits.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import { type Instant, toWireInstant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import { createLookup } from '#src/platform/db/batch.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { digest, equalDigests } from '#src/platform/digest.js';
import type { Platform } from '#src/platform/index.js';
import { type Accounts, users } from '../accounts/index.js';
import type { ActivityLog } from '../activity/index.js';
import type { Courier } from '../courier/index.js';
import type { Factors, SecondFactor } from '../factors/index.js';
import { createAlerts } from './alerts.js';
import { createDeviceReader, unknownDevice } from './device.js';
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

/** A session's secret as its holder sends it. */
const secretText = (id: string, random256: string) => `ss_${id}.${random256}`;

const dayMs = 86_400_000;

/** What sessions lean on. */
export interface SessionDoors {
  readonly accounts: Accounts;
  readonly activity: ActivityLog;
  readonly courier: Courier;
  readonly factors: Factors;
}

/** A session with its user, as stored. */
interface Found {
  readonly session: SessionRow;
  readonly account: Account;
}

type Parts = Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'config'>;

/** Sessions: the one door through which every login leaves, and what ends them. */
export function createSessions({ db, sql, clock, random, config }: Parts, doors: SessionDoors) {
  const { accounts, factors } = doors;
  const store = createSessionStore(sql);
  const alerts = createAlerts(doors.activity, doors.courier);
  const deviceOf = createDeviceReader();
  const expiry = (project: Project, now: Instant) =>
    instantOf(millisecondsOf(now) + (project.settings['session.days'] ?? config.sessionDays) * dayMs);

  const isAlive = (session: SessionRow, project: Project): boolean => {
    if (millisecondsOf(session.expire) <= clock.now()) return false;
    const idleDays = project.settings['session.idleDays'] ?? config.sessionIdleDays ?? null;
    return idleDays === null || clock.now() - millisecondsOf(session.accessedAt) < idleDays * dayMs;
  };

  const load = async (reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, Found>> => {
    const rows = await reader.all({ ...store.withUsers({ ids: sql.list(ids) }), texts: true });
    return new Map(
      rows.map((row) => [
        String(row.id),
        { session: sessions.decode(row, 'session'), account: users.decode(row, 'user') },
      ]),
    );
  };
  const lookup = createLookup(sql.dialect, (ids) => load(db, ids));

  /** The session a secret stands for, with its user; undefined where there is none. */
  const resolve = async (
    find: (id: string) => Promise<Found | undefined>,
    projectId: string,
    secret: string,
  ): Promise<Found | undefined> => {
    const [, id = '', random256 = ''] = /^ss_([0-9a-f]{20})\.([A-Za-z0-9_-]{43})$/.exec(secret) ?? [];
    const found = id === '' ? undefined : await find(id);
    if (found === undefined) return undefined;
    const { session } = found;
    const isRight = session.projectId === projectId && equalDigests(digest(random256), session.secretDigest);
    return isRight ? found : undefined;
  };

  const isOlder = (instant: Instant | null, seconds: number): boolean =>
    instant === null || clock.now() - millisecondsOf(instant) > seconds * 1000;
  /** The last use is kept to the hour (session) and to the day (user), so that reads stay reads. */
  const touch = (project: Project, { session, account }: Found): Promise<void> | undefined => {
    const staleSession = isOlder(session.accessedAt, accessGranularitySeconds.session);
    const staleUser = isOlder(account.accessedAt, accessGranularitySeconds.account);
    if (!staleSession && !staleUser) return undefined;
    return db.work({ projectId: project.id, actor: { kind: 'user', id: account.id }, requestId: '' }, async (unit) => {
      if (staleSession) await unit.run(store.update(project.id, session.id, { accessedAt: unit.now }));
      if (staleUser) await accounts.touch(unit, project.id, account.id);
    });
  };

  /** Ends a session; false where somebody else was quicker, whose event it is. One that lacks its second factor was never announced. */
  const close = async (unit: Unit, project: Project, session: Session): Promise<boolean> => {
    if ((await unit.run(store.remove({ projectId: project.id, id: session.id }))) === 0) return false;
    if (!session.pending) unit.record('sessionDeleted', recorded(session));
    return true;
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

  /** Ends the session that the same browser held. */
  const endPresented = async (unit: Unit, project: Project, presented: string | null): Promise<void> => {
    if (presented === null) return;
    const previous = await resolve(async (id) => (await load(unit, [id])).get(id), project.id, presented);
    if (previous !== undefined && previous.session.endedAt === null) await close(unit, project, previous.session);
  };
  /** Ends the oldest of some sessions, so that one more stays within the project's limit. */
  const makeRoom = async (unit: Unit, project: Project, others: readonly SessionRow[]): Promise<void> => {
    const surplus = others.length + 1 - project.settings['session.limit'];
    for (const oldest of others.slice(0, Math.max(0, surplus))) await close(unit, project, oldest);
  };
  const insert = async (
    unit: Unit,
    project: Project,
    userId: string,
    login: Omit<Login, 'otp'>,
    state: Pick<SessionRow, 'expire' | 'mfaUpdatedAt' | 'pending'>,
  ): Promise<OpenedSession> => {
    const id = random.id();
    const secret = random.secret();
    const session: SessionRow = {
      ...{ id, projectId: project.id, userId, secretDigest: digest(secret), ...state },
      ...{ provider: login.provider, providerUid: login.providerUid, factors: login.factors },
      ...{
        ip: login.request.ip,
        device: deviceOf(login.request.userAgent),
        authenticatedAt: unit.now,
        accessedAt: unit.now,
      },
      ...{ endedAt: null, createdAt: unit.now, updatedAt: unit.now },
    };
    await unit.run(store.insert(session));
    return { session, secret: secretText(id, secret) };
  };
  /** Opens a session for whoever has proved everything there was to prove. */
  const enter = async (
    unit: Unit,
    project: Project,
    account: Account,
    login: Omit<Login, 'otp'>,
    second?: SecondFactor,
  ): Promise<OpenedSession> => {
    await makeRoom(unit, project, await active(unit, project, account.id));
    const proved = second === undefined ? login : { ...login, factors: [...login.factors, second] };
    const mfaUpdatedAt = second === undefined ? null : unit.now;
    const state = { expire: expiry(project, unit.now), mfaUpdatedAt, pending: false };
    const opened = await insert(unit, project, account.id, proved, state);
    unit.record('sessionCreated', recorded(opened.session));
    await alerts.consider(unit, project, account, opened.session, login.request.locale);
    return opened;
  };
  /** Refuses a login that lacks its second factor, and hands out what it takes to give it. */
  const suspend = async (unit: Unit, project: Project, userId: string, login: Login): Promise<Failure> => {
    await makeRoom(unit, project, await pending(unit, project, userId));
    const expire = instantOf(millisecondsOf(unit.now) + pendingSeconds.session * 1000);
    const { session, secret } = await insert(unit, project, userId, login, {
      expire,
      mfaUpdatedAt: null,
      pending: true,
    });
    unit.record('loginPending', {
      ...{ resource: recorded(session).resource, userId },
      payload: { userId, provider: login.provider, ip: login.request.ip },
    });
    return new Failure('user_more_factors_required', {
      pendingSession: { userId, secret, expire: toWireInstant(expire) },
    });
  };

  const strengthen = async (
    unit: Unit,
    project: Project,
    session: Session,
    factor: SecondFactor,
    mfaUpdatedAt: Instant | null,
  ): Promise<Session> => {
    const change = { factors: [...new Set([...session.factors, factor])], mfaUpdatedAt, updatedAt: unit.now };
    await unit.run(store.update(project.id, session.id, change));
    const strengthened = { ...session, ...change };
    unit.record('sessionUpdated', recorded(strengthened));
    return strengthened;
  };

  /** The user of a session that was found, if it counts still. Throws Failure `user_blocked`. */
  const admit = async (project: Project, found: Found, via: User['via']): Promise<User | undefined> => {
    const { session, account } = found;
    if (!isAlive(session, project)) return undefined;
    if (!account.status) throw new Failure('user_blocked');
    if (session.endedAt !== null) return undefined;
    const touched = touch(project, found);
    if (touched !== undefined) await touched;
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
      const found = await lookup(id);
      if (found === undefined) return undefined;
      const { session } = found;
      if (session.projectId !== project.id || session.userId !== userId || session.pending) return undefined;
      return admit(project, found, 'jwt');
    },
    /**
     * Opens a session where the user has proved enough: refuses blocked users and whoever lacks the second factor, ends the session the
     * same browser held, and the oldest beyond the project's limit. The caller has proved the first factor. A Failure must be returned by
     * the unit in turn, so that what was counted stays.
     */
    open: async (unit: Unit, project: Project, account: Account, login: Login): Promise<OpenedSession | Failure> => {
      // Updating the user first makes parallel logins of one user wait for each other, so that the limit holds.
      const current = await accounts.arrive(unit, project.id, account.id);
      if (current === undefined) throw new Failure('user_invalid_credentials');
      if (!current.status) return new Failure('user_blocked');
      const demand = await factors.demand(unit, project, current, login);
      if (demand instanceof Failure) return demand;
      await endPresented(unit, project, login.request.presentedSession);
      if (demand === 'lacking') return suspend(unit, project, account.id, login);
      return enter(unit, project, current, login, demand === 'enough' ? undefined : demand);
    },
    /** Opens the session that a pending one stood for. Returns Failure `user_invalid_token` where that has ended meanwhile. */
    complete: async (
      unit: Unit,
      project: Project,
      account: Account,
      pendingSession: Session,
      second: SecondFactor,
      request: RequestFacts,
    ): Promise<OpenedSession | Failure> => {
      if (!(await close(unit, project, pendingSession))) return new Failure('user_invalid_token');
      const { provider, providerUid, factors: first } = pendingSession;
      return enter(unit, project, account, { provider, providerUid, factors: first, request }, second);
    },
    /** Notes that the user of a session has a factor more. It makes the session no fresher, as its holder was given the seed just now. */
    noteFactor: (unit: Unit, project: Project, session: Session, factor: SecondFactor): Promise<Session> =>
      strengthen(unit, project, session, factor, session.mfaUpdatedAt),
    /** Ends what lacks its second factor: the factors have changed meanwhile. */
    dropPending: async (unit: Unit, project: Project, userId: string): Promise<void> => {
      for (const session of await pending(unit, project, userId)) await close(unit, project, session);
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
    /**
     * Gives a session another secret; the one before it is good for nothing any more. Where its user has just proved a factor, that is noted
     * too. Throws Failure where the session is gone.
     */
    renew: async (unit: Unit, project: Project, session: Session, factor?: SecondFactor): Promise<OpenedSession> => {
      const secret = random.secret();
      const change = { secretDigest: digest(secret), updatedAt: unit.now };
      if ((await unit.run(store.update(project.id, session.id, change))) === 0)
        throw new Failure('general_unauthorized_scope');
      if (factor !== undefined) {
        const proved = await strengthen(unit, project, session, factor, unit.now);
        return { session: proved, secret: secretText(session.id, secret) };
      }
      const renewed = { ...session, updatedAt: unit.now };
      unit.record('sessionUpdated', recorded(renewed));
      return { session: renewed, secret: secretText(session.id, secret) };
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
        if (!session.pending) unit.record('sessionDeleted', recorded(session));
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
