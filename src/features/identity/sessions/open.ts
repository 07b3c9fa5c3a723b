import { Failure } from '#src/contract/errors.js';
import { pendingSeconds } from '#src/contract/limits.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Device, Session } from '#src/contract/session.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import { digest } from '#src/platform/crypto/digest.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, isAhead, millisecondsOf } from '#src/platform/runtime/clock.js';
import { createDeviceReader } from '../../events/index.js';
import { channelOf, type SecondFactor, secondFactors } from '../factors/index.js';
import { alertOfLogin } from './alerts.js';
import type { SessionEnding } from './end.js';
import { type SessionReader, sessionRecord, sessionSecretOf } from './records.js';
import type { Login, OpenedSession, SessionDeps, Sessions } from './sessions.js';
import type { SessionRow, SessionStore } from './store.js';

interface Deps extends SessionDeps, Pick<Runtime, 'clock' | 'random'> {
  readonly store: SessionStore;
  readonly reader: SessionReader;
  readonly ending: SessionEnding;
  readonly deviceOf: (userAgent: string) => Device;
}

/** A login without the code of its second factor. */
type CheckedLogin = Omit<Login, 'otp'>;

/** Creates the functions that open sessions. */
export function createOpening(given: Omit<Deps, 'deviceOf'>): Pick<Sessions, 'open' | 'complete'> {
  const deps: Deps = { ...given, deviceOf: createDeviceReader() };
  return bind(deps, { open, complete });
}

async function open(deps: Deps, unit: Unit, project: Project, account: UserRecord, login: Login) {
  const { users, factors, ending } = deps;
  // Updating the user first serialises parallel logins of one user, so that the limit holds.
  const current = await users.lockAndTouch(unit, project.id, account.id);
  if (current === undefined) throw new Failure('user_invalid_credentials');
  if (!current.status) throw unit.refuse('user_blocked');
  const { replaces } = login;
  const factor = replaces === undefined ? await factors.checkLogin(unit, project, current, login) : 'enough';
  if (replaces !== undefined) await ending.close(unit, project, replaces);
  await ending.endPresented(unit, project, login.request.presentedSession);
  if (factor === 'lacking') return openPending(deps, unit, project, current, login);
  return openFull(deps, unit, project, current, login, factor === 'enough' ? undefined : factor);
}

async function complete(
  deps: Deps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  pendingSession: Session,
  second: SecondFactor,
  request: RequestFacts,
): Promise<OpenedSession> {
  if (!(await deps.ending.close(unit, project, pendingSession))) throw unit.refuse('user_invalid_token');
  const { provider, providerUid, factors, endsBy } = pendingSession;
  return openFull(deps, unit, project, account, { provider, providerUid, factors, endsBy, request }, second);
}

/** Opens a pending session for the second factor and throws Failure `user_more_factors_required` with its secret. */
async function openPending(
  deps: Deps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  login: Login,
): Promise<never> {
  const userId = account.id;
  await makeRoom(deps, unit, project, await deps.reader.pending(unit, project, userId));
  const expire = instantOf(millisecondsOf(unit.now) + pendingSeconds.session * 1000);
  const state = { expire, mfaUpdatedAt: null, pending: true };
  const { session, secret } = await insert(deps, unit, project, userId, login, state);
  unit.record('loginPending', {
    resource: sessionRecord(session).resource,
    userId,
    payload: { userId, provider: login.provider, ip: login.request.ip },
  });
  const usable = await deps.factors.usable(unit, project, account);
  const channel = channelOf(login.factors);
  throw unit.refuse('user_more_factors_required', {
    pendingSession: { userId, secret, expire: toWireInstant(expire) },
    secondFactors: secondFactors.filter((factor) => usable[factor] && factor !== channel),
  });
}

/** Opens a full session, after all required factors are proved. */
async function openFull(
  deps: Deps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  login: CheckedLogin,
  second?: SecondFactor,
): Promise<OpenedSession> {
  const { reader } = deps;
  await makeRoom(deps, unit, project, await reader.active(unit, project, account.id));
  const held = heldFactors(login.replaces);
  const factors = [...new Set([...login.factors, ...held, ...(second === undefined ? [] : [second])])];
  const mfaUpdatedAt = second === undefined ? (login.replaces?.mfaUpdatedAt ?? null) : unit.now;
  const bounds = { createdAt: unit.now, endsBy: login.endsBy ?? null };
  const state = { expire: reader.expiry(project, unit.now, bounds), mfaUpdatedAt, pending: false };
  const opened = await insert(deps, unit, project, account.id, { ...login, factors }, state);
  unit.record('sessionCreated', sessionRecord(opened.session));
  await alertOfLogin(deps, unit, project, account, opened.session, login.request.locale);
  return opened;
}

/**
 * Ends sessions, so that one more fits the project's limit: first those dated in the future (created before the clock was set back), then
 * the oldest.
 */
async function makeRoom({ clock, ending }: Deps, unit: Unit, project: Project, others: readonly SessionRow[]) {
  const surplus = others.length + 1 - project.settings['session.limit'];
  if (surplus <= 0) return;
  const [ahead, past] = [true, false].map((wanted) =>
    others.filter(({ createdAt }) => isAhead(createdAt, clock.now()) === wanted),
  );
  for (const oldest of [...(ahead ?? []), ...(past ?? [])].slice(0, surplus)) await ending.close(unit, project, oldest);
}

async function insert(
  { random, store, deviceOf }: Deps,
  unit: Unit,
  project: Project,
  userId: string,
  login: CheckedLogin,
  state: Pick<SessionRow, 'expire' | 'mfaUpdatedAt' | 'pending'>,
): Promise<OpenedSession> {
  const id = random.id();
  const secret = random.secret();
  const session: SessionRow = {
    id,
    projectId: project.id,
    userId,
    secretDigest: digest(secret),
    ...state,
    endsBy: login.endsBy ?? null,
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
  return { session, secret: sessionSecretOf(id, secret) };
}

/** Second factors that a replaced session has proved; the new session keeps them. */
function heldFactors(session: Session | undefined): readonly string[] {
  if (session === undefined || session.mfaUpdatedAt === null) return [];
  return session.factors.filter((factor) => (secondFactors as readonly string[]).includes(factor));
}
