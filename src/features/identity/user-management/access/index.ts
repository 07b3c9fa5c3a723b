import { Failure } from '#src/contract/errors.js';
import { logPage } from '#src/contract/limits.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import { listRequestOf, parsePage } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { type ActivityLog, toLog } from '../../../events/index.js';
import { type Identities, toIdentity } from '../../identities/index.js';
import { type OneTimeSecrets, toToken } from '../../one-time-secrets/index.js';
import { type Sessions, toNewSession, toSession } from '../../sessions/index.js';
import type { Tokens } from '../../tokens/index.js';
import type { UserChanges, Users } from '../../users/index.js';
import { accessApi } from './api.js';

interface Deps extends Pick<Runtime, 'db' | 'random'> {
  readonly userChanges: UserChanges;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly tokens: Tokens;
  readonly activity: ActivityLog;
  readonly identities: Identities;
  /** Purpose of the one-time login tokens. */
  readonly tokenPurpose: string;
}

type Api = typeof accessApi;

/** Creates the operations of server keys on sessions, tokens, logs and identities of users. */
export function createAccess({ db, random }: Pick<Runtime, 'db' | 'random'>, given: Omit<Deps, 'db' | 'random'>) {
  const deps: Deps = { ...given, db, random };
  return implement(accessApi, {
    ...bind(deps, { listSessions, createSession, deleteSessions, deleteSession, createToken, createJwt }),
    ...bind(deps, { listLogs, listIdentities, deleteIdentity }),
  });
}

async function listSessions(deps: Deps, { project, params, query }: Call<Api['listSessions']>) {
  const { db, users, sessions, identities } = deps;
  const account = await users.get(db, project.id, params.userId);
  const found = await sessions.active(db, project, account.id);
  const tokensOf = await identities.tokensOfSessions(db, project, account.id);
  return {
    total: query.total ? found.length : 0,
    sessions: found.map((one) => toSession(one, undefined, tokensOf(one))),
  };
}

async function createSession({ db, sessions, userChanges }: Deps, call: Call<Api['createSession']>) {
  const { project, params } = call;
  // The session that the backend presents is not that of the user's browser.
  const request = { ...call.request, presentedSession: null };
  const opened = await db.work(auditContextOf(call), async (unit) => {
    const account = await userChanges.lockById(unit, project, params.userId);
    if (!account.status) throw new Failure('user_blocked');
    const login = { provider: 'server', providerUid: '', factors: ['server'], request };
    return sessions.open(unit, project, account, login);
  });
  return { ...toNewSession(opened.session, opened.secret), current: false };
}

function deleteSessions({ db, sessions, userChanges }: Deps, call: Call<Api['deleteSessions']>): Promise<void> {
  return db.work(auditContextOf(call), async (unit) => {
    const account = await userChanges.lockById(unit, call.project, call.params.userId);
    await sessions.closeAll(unit, call.project, account.id);
  });
}

function deleteSession({ db, sessions, userChanges }: Deps, call: Call<Api['deleteSession']>): Promise<void> {
  return db.work(auditContextOf(call), async (unit) => {
    const { project, params } = call;
    const account = await userChanges.lockById(unit, project, params.userId);
    await sessions.close(unit, project, await sessions.get(unit, project, account.id, params.sessionId));
  });
}

async function createToken(deps: Deps, call: Call<Api['createToken']>) {
  const { db, random, secrets, userChanges, tokenPurpose } = deps;
  const { project, params, body } = call;
  const issued = await db.work(auditContextOf(call), async (unit) => {
    const { id: userId, status } = await userChanges.lockById(unit, project, params.userId);
    if (!status) throw new Failure('user_blocked');
    unit.record('accountTokenCreated', { resource: `users/${userId}`, userId, payload: { userId } });
    // Each token has its own subject, so that several can be open at once, for several devices.
    const subject = `${userId}/${random.id()}`;
    const form = { length: body.length };
    const wanted = { purpose: tokenPurpose, subject, userId, recipient: '', form } as const;
    return secrets.issue(unit, project, { ...wanted, lifeSeconds: body.expire });
  });
  return toToken(issued, issued.secret);
}

async function createJwt(deps: Deps, call: Call<Api['createJwt']>) {
  const { db, users, tokens, userChanges } = deps;
  const { project, params, body, actor } = call;
  const account = await users.get(db, project.id, params.userId);
  if (!account.status) throw new Failure('user_blocked');
  const session = await sessionFor(deps, project, account.id, body.sessionId);
  const jwt = await tokens.mint(project, account, session, { ...body, actingKey: actor.id });
  // Signing comes first, because it waits for more than the database. The caller gets the token only after its creation is recorded.
  return db.work(auditContextOf(call), async (unit) => {
    const { id: userId, status } = await userChanges.lockById(unit, project, account.id);
    if (!status) throw new Failure('user_blocked');
    const { alg, duration } = body;
    const payload = { userId, sessionId: session?.id ?? '', alg, duration };
    unit.record('accountJwtCreated', { resource: `users/${userId}`, userId, payload });
    return { jwt };
  });
}

/**
 * The session of a new JWT: the one with this id, or the newest if `id` is empty or `recent`. If there is none: null for an empty `id`,
 * otherwise throws Failure `user_session_not_found`.
 */
async function sessionFor({ db, sessions }: Deps, project: Project, userId: string, id: string) {
  if (id !== '' && id !== 'recent') return sessions.get(db, project, userId, id);
  const recent = (await sessions.active(db, project, userId)).at(-1);
  if (recent === undefined && id === 'recent') throw new Failure('user_session_not_found');
  return recent ?? null;
}

async function listLogs({ db, users, activity }: Deps, { project, params, query }: Call<Api['listLogs']>) {
  const account = await users.get(db, project.id, params.userId);
  const found = await activity.list(db, project.id, account.id, parsePage(query.queries, logPage));
  const total = query.total ? await activity.count(db, project.id, account.id) : 0;
  return { total, logs: found.map((entry) => toLog(account, entry)) };
}

async function listIdentities({ identities }: Deps, { project, query, request }: Call<Api['listIdentities']>) {
  const { total, identities: found } = await identities.list(project, listRequestOf({ query, request }));
  return { total, identities: found.map((one) => toIdentity(one, identities.tokensOf(project, one))) };
}

function deleteIdentity(deps: Deps, call: Call<Api['deleteIdentity']>): Promise<void> {
  const { db, sessions, identities, userChanges } = deps;
  return db.work(auditContextOf(call), async (unit) => {
    const { project, params } = call;
    const identity = await identities.findById(unit, project, params.identityId);
    if (identity === undefined) throw new Failure('user_identity_not_found');
    const user = await userChanges.lockById(unit, project, identity.userId);
    await identities.unlink(unit, project, user, identity);
    await sessions.closeOfIdentity(unit, project, identity);
  });
}
