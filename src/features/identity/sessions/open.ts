import { Failure } from '#src/contract/errors.js';
import { pendingSeconds } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { instantOf, isAhead, millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import { digest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { createDeviceReader } from '../../events/index.js';
import { type SecondFactor, secondFactors } from '../factors/index.js';
import { createAlerts } from './alerts.js';
import type { createEnding } from './end.js';
import { recorded, type SessionReader, secretText } from './records.js';
import type { Login, OpenedSession, SessionDeps, Sessions } from './sessions.js';
import type { SessionRow, SessionStore } from './store.js';

interface Parts {
  readonly store: SessionStore;
  readonly reader: SessionReader;
  readonly ending: ReturnType<typeof createEnding>;
}

/** Opens sessions. */
export function createOpening(
  { clock, random }: Pick<Runtime, 'clock' | 'random'>,
  deps: SessionDeps,
  { store, reader, ending }: Parts,
): Pick<Sessions, 'open' | 'complete'> {
  const { users, factors } = deps;
  const { active, pending, expiry } = reader;
  const { close, endPresented } = ending;
  const alerts = createAlerts(deps);
  const deviceOf = createDeviceReader();

  /** Ends the oldest of some sessions, so that one more stays within the project's limit; first those from before the clock was set back. */
  const makeRoom = async (unit: Unit, project: Project, others: readonly SessionRow[]): Promise<void> => {
    const surplus = others.length + 1 - project.settings['session.limit'];
    if (surplus <= 0) return;
    const [ahead, past] = [true, false].map((wanted) =>
      others.filter(({ createdAt }) => isAhead(createdAt, clock.now()) === wanted),
    );
    for (const oldest of [...(ahead ?? []), ...(past ?? [])].slice(0, surplus)) await close(unit, project, oldest);
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
      id,
      projectId: project.id,
      userId,
      secretDigest: digest(secret),
      ...state,
      provider: login.provider,
      providerUid: login.providerUid,
      factors: login.factors,
      ip: login.request.ip,
      device: deviceOf(login.request.userAgent),
      authenticatedAt: unit.now,
      accessedAt: unit.now,
      endedAt: null,
      createdAt: unit.now,
      updatedAt: unit.now,
    };
    await unit.run(store.insert(session));
    return { session, secret: secretText(id, secret) };
  };
  /** Opens a session for a user who has given every proof that is required. */
  const openFull = async (
    unit: Unit,
    project: Project,
    account: UserRecord,
    login: Omit<Login, 'otp'>,
    second?: SecondFactor,
  ): Promise<OpenedSession> => {
    await makeRoom(unit, project, await active(unit, project, account.id));
    const held = heldFactors(login.replaces);
    const proved = {
      ...login,
      factors: [...new Set([...login.factors, ...held, ...(second === undefined ? [] : [second])])],
    };
    const mfaUpdatedAt = second === undefined ? (login.replaces?.mfaUpdatedAt ?? null) : unit.now;
    const state = { expire: expiry(project, unit.now, unit.now), mfaUpdatedAt, pending: false };
    const opened = await insert(unit, project, account.id, proved, state);
    unit.record('sessionCreated', recorded(opened.session));
    await alerts.consider(unit, project, account, opened.session, login.request.locale);
    return opened;
  };
  /** Refuses a login that lacks its second factor, and hands out what it takes to give it. */
  const openPending = async (unit: Unit, project: Project, userId: string, login: Login): Promise<never> => {
    await makeRoom(unit, project, await pending(unit, project, userId));
    const expire = instantOf(millisecondsOf(unit.now) + pendingSeconds.session * 1000);
    const { session, secret } = await insert(unit, project, userId, login, {
      expire,
      mfaUpdatedAt: null,
      pending: true,
    });
    unit.record('loginPending', {
      resource: recorded(session).resource,
      userId,
      payload: { userId, provider: login.provider, ip: login.request.ip },
    });
    throw unit.refuse('user_more_factors_required', {
      pendingSession: { userId, secret, expire: toWireInstant(expire) },
    });
  };

  return {
    open: async (unit, project, account, login) => {
      // Updating the user first makes parallel logins of one user wait for each other, so that the limit holds.
      const current = await users.lockAndTouch(unit, project.id, account.id);
      if (current === undefined) throw new Failure('user_invalid_credentials');
      if (!current.status) throw unit.refuse('user_blocked');
      const { replaces } = login;
      const demand = replaces === undefined ? await factors.demand(unit, project, current, login) : 'enough';
      if (replaces !== undefined) await close(unit, project, replaces);
      await endPresented(unit, project, login.request.presentedSession);
      if (demand === 'lacking') return openPending(unit, project, account.id, login);
      return openFull(unit, project, current, login, demand === 'enough' ? undefined : demand);
    },
    complete: async (unit, project, account, pendingSession, second, request) => {
      if (!(await close(unit, project, pendingSession))) throw unit.refuse('user_invalid_token');
      const { provider, providerUid, factors: first } = pendingSession;
      return openFull(unit, project, account, { provider, providerUid, factors: first, request }, second);
    },
  };
}

/** The second factors that a session has by a challenge. */
function heldFactors(session: Session | undefined): readonly string[] {
  if (session === undefined || session.mfaUpdatedAt === null) return [];
  return session.factors.filter((factor) => (secondFactors as readonly string[]).includes(factor));
}
