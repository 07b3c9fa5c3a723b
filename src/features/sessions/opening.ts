import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import { pendingSeconds } from '#src/contract/limits.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Device, Session } from '#src/contract/session.js';
import { type Instant, toWireInstant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { digest } from '#src/platform/digest.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Factors, SecondFactor } from '../factors/index.js';
import type { SessionRow, SessionStore } from './store.js';
import { recorded } from './view.js';

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

const unknownDevice: Device = {
  ...{ osCode: '', osName: '', osVersion: '', clientType: '', clientCode: '', clientName: '', clientVersion: '' },
  ...{ clientEngine: '', clientEngineVersion: '', deviceName: '', deviceBrand: '', deviceModel: '' },
};

type List = (reader: Reader, project: Project, userId: string) => Promise<SessionRow[]>;

/** What opening leans on: the sessions there are, and how one ends. */
interface Parts {
  readonly store: SessionStore;
  readonly accounts: Accounts;
  readonly factors: Factors;
  readonly expiry: (project: Project, now: Instant) => Instant;
  readonly active: List;
  readonly pending: List;
  readonly close: (unit: Unit, project: Project, session: Session) => Promise<boolean>;
  readonly findPresented: (unit: Unit, project: Project, secret: string) => Promise<SessionRow | undefined>;
}

/** Opening sessions: every login leaves through here, with its second factor or without. */
export function createOpening({ random }: Pick<Platform, 'random'>, parts: Parts) {
  const { store, accounts, factors, expiry, active, pending, close, findPresented } = parts;

  /** Ends the session that the same browser held. */
  const endPresented = async (unit: Unit, project: Project, presented: string | null): Promise<void> => {
    if (presented === null) return;
    const previous = await findPresented(unit, project, presented);
    if (previous !== undefined && previous.endedAt === null) await close(unit, project, previous);
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
      ...{ ip: login.request.ip, device: unknownDevice, authenticatedAt: unit.now, accessedAt: unit.now },
      ...{ endedAt: null, createdAt: unit.now, updatedAt: unit.now },
    };
    await unit.run(store.insert(session));
    return { session, secret: `ss_${id}.${secret}` };
  };
  /** Opens a session for whoever has proved everything there was to prove. */
  const enter = async (
    unit: Unit,
    project: Project,
    userId: string,
    login: Omit<Login, 'otp'>,
    second?: SecondFactor,
  ): Promise<OpenedSession> => {
    await makeRoom(unit, project, await active(unit, project, userId));
    const proved = second === undefined ? login : { ...login, factors: [...login.factors, second] };
    const mfaUpdatedAt = second === undefined ? null : unit.now;
    const state = { expire: expiry(project, unit.now), mfaUpdatedAt, pending: false };
    const opened = await insert(unit, project, userId, proved, state);
    unit.record('sessionCreated', recorded(opened.session));
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

  return {
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
      return enter(unit, project, account.id, login, demand === 'enough' ? undefined : demand);
    },
    /** Opens the session that a pending one stood for. Returns Failure `user_invalid_token` where that has ended meanwhile. */
    complete: async (
      unit: Unit,
      project: Project,
      pendingSession: Session,
      second: SecondFactor,
      request: RequestFacts,
    ): Promise<OpenedSession | Failure> => {
      if (!(await close(unit, project, pendingSession))) return new Failure('user_invalid_token');
      const { userId, provider, providerUid, factors: first } = pendingSession;
      return enter(unit, project, userId, { provider, providerUid, factors: first, request }, second);
    },
  };
}
