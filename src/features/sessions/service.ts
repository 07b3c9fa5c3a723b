import type { Account } from '#src/contract/account.js';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { accessGranularitySeconds, freshLoginSeconds } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import { createLookup } from '#src/platform/db/batch.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { digest, equalDigests } from '#src/platform/digest.js';
import type { Platform } from '#src/platform/index.js';
import { type Accounts, users } from '../accounts/index.js';
import type { Factors, SecondFactor } from '../factors/index.js';
import { createOpening, type OpenedSession } from './opening.js';
import { createSessionStore, type SessionRow, sessions } from './store.js';
import { recorded } from './view.js';

const dayMs = 86_400_000;

type Parts = Pick<Platform, 'db' | 'sql' | 'clock' | 'random' | 'config'>;

/** Sessions: the one door through which every login leaves, and what ends them. */
export function createSessions({ db, sql, clock, random, config }: Parts, accounts: Accounts, factors: Factors) {
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
  /** Those that lack their second factor. */
  const pending = async (reader: Reader, project: Project, userId: string): Promise<SessionRow[]> =>
    (await stored(reader, project, userId)).filter((session) => session.pending);

  /** The session that a caller's browser holds, whoever it belongs to. */
  const findPresented = async (unit: Unit, project: Project, secret: string): Promise<SessionRow | undefined> =>
    (await resolve(async (id) => (await load(unit, [id])).get(id), project.id, secret))?.session;
  const opening = createOpening(
    { random },
    { store, accounts, factors, expiry, active, pending, close, findPresented },
  );
  const strengthen = async (
    unit: Unit,
    project: Project,
    session: Session,
    factor: SecondFactor,
    proved: Pick<Partial<SessionRow>, 'mfaUpdatedAt' | 'secretDigest'> = {},
  ): Promise<Session> => {
    const change = { factors: [...new Set([...session.factors, factor])], updatedAt: unit.now, ...proved };
    if ((await unit.run(store.update(project.id, session.id, change))) === 0)
      throw new Failure('general_unauthorized_scope');
    const { secretDigest: _, ...visible } = change;
    const strengthened = { ...session, ...visible };
    unit.record('sessionUpdated', recorded(strengthened));
    return strengthened;
  };

  return {
    /** The user behind a session secret, or undefined where the secret stands for nothing. Throws Failure `user_blocked`. */
    authenticate: async (project: Project, secret: string, via: User['via']): Promise<User | undefined> => {
      const found = await resolve(lookup, project.id, secret);
      if (found === undefined || !isAlive(found.session, project)) return undefined;
      const { session, account } = found;
      if (!account.status) throw new Failure('user_blocked');
      if (session.endedAt !== null) return undefined;
      await touch(project, session, account);
      return { kind: 'user', id: account.id, account, session, via };
    },
    ...opening,
    /** Notes that the user of a session has a factor more. It makes the session no fresher, as its holder was given the seed just now. */
    noteFactor: (unit: Unit, project: Project, session: Session, factor: SecondFactor): Promise<Session> =>
      strengthen(unit, project, session, factor),
    /** Notes that the user of a session has proved a factor just now, and gives it a new secret: whoever has copied the old one gains nothing. */
    renew: async (unit: Unit, project: Project, session: Session, factor: SecondFactor): Promise<OpenedSession> => {
      const secret = random.secret();
      const proved = { mfaUpdatedAt: unit.now, secretDigest: digest(secret) };
      return {
        session: await strengthen(unit, project, session, factor, proved),
        secret: `ss_${session.id}.${secret}`,
      };
    },
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
