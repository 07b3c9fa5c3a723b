import { Failure } from '#src/contract/errors.js';
import { logPage } from '#src/contract/limits.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { listRequestOf, parsePage } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { toLog } from '../../../events/index.js';
import { toIdentity } from '../../identities/index.js';
import { toToken } from '../../one-time-secrets/index.js';
import { toNewSession, toSession } from '../../sessions/index.js';
import { accountRecord } from '../../users/index.js';
import { type ManagementDeps, userOfCall, workOnUser } from '../model/keys.js';
import { accessApi } from './api.js';

type Api = typeof accessApi;

/** Creates the operations of server keys on sessions, tokens, logs and identities of users. */
export function createAccess(deps: ManagementDeps) {
  return implement(accessApi, {
    ...bind(deps, { listSessions, createSession, deleteSessions, deleteSession, createToken, createJwt }),
    ...bind(deps, { listLogs, listIdentities, deleteIdentity }),
  });
}

async function listSessions(deps: ManagementDeps, call: Call<Api['listSessions']>) {
  const { db, sessions, identities } = deps;
  const { project, query } = call;
  const account = await userOfCall(deps, call);
  const found = await sessions.active(db, project, account.id);
  const tokensOf = await identities.tokensOfSessions(db, project, account.id);
  return {
    total: query.total ? found.length : 0,
    sessions: found.map((one) => toSession(one, undefined, tokensOf(one))),
  };
}

async function createSession(deps: ManagementDeps, call: Call<Api['createSession']>) {
  // The session that the backend presents is not that of the user's browser.
  const request = { ...call.request, presentedSession: null };
  const opened = await workOnUser(deps, call, async (unit, account) => {
    if (!account.status) throw new Failure('user_blocked');
    const login = { provider: 'server', providerUid: '', factors: ['server'], request };
    return deps.sessions.open(unit, call.project, account, login);
  });
  return { ...toNewSession(opened), current: false };
}

function deleteSessions(deps: ManagementDeps, call: Call<Api['deleteSessions']>): Promise<void> {
  return workOnUser(deps, call, async (unit, { id }) => {
    await deps.sessions.closeAll(unit, call.project, id);
  });
}

function deleteSession(deps: ManagementDeps, call: Call<Api['deleteSession']>): Promise<void> {
  const { sessions } = deps;
  const { project, params } = call;
  return workOnUser(deps, call, async (unit, { id }) => {
    await sessions.close(unit, project, await sessions.get(unit, project, id, params.sessionId));
  });
}

async function createToken(deps: ManagementDeps, call: Call<Api['createToken']>) {
  const { random, secrets, tokenPurpose } = deps;
  const { project, body } = call;
  const issued = await workOnUser(deps, call, async (unit, { id: userId, status }) => {
    if (!status) throw new Failure('user_blocked');
    unit.record('accountTokenCreated', accountRecord(userId));
    // Each token has its own subject, so that several can be open at once, for several devices.
    const subject = `${userId}/${random.id()}`;
    const form = { length: body.length };
    const wanted = { purpose: tokenPurpose, subject, userId, recipient: '', form } as const;
    return secrets.issue(unit, project, { ...wanted, lifeSeconds: body.expire });
  });
  return toToken(issued, issued.secret);
}

async function createJwt(deps: ManagementDeps, call: Call<Api['createJwt']>) {
  const { project, body, actor } = call;
  const account = await userOfCall(deps, call);
  if (!account.status) throw new Failure('user_blocked');
  const session = await sessionFor(deps, project, account.id, body.sessionId);
  const jwt = await deps.tokens.mint(project, account, session, { ...body, actingKey: actor.id });
  // Signing comes first, because it waits for more than the database. The caller gets the token only after its creation is recorded.
  return workOnUser(deps, call, async (unit, { id: userId, status }) => {
    if (!status) throw new Failure('user_blocked');
    const { alg, duration } = body;
    unit.record('accountJwtCreated', accountRecord(userId, { sessionId: session?.id ?? '', alg, duration }));
    return { jwt };
  });
}

/**
 * The session of a new JWT: the one with this id, or the newest if `id` is empty or `recent`. If there is none: null for an empty `id`,
 * otherwise throws Failure `user_session_not_found`.
 */
async function sessionFor({ db, sessions }: ManagementDeps, project: Project, userId: string, id: string) {
  if (id !== '' && id !== 'recent') return sessions.get(db, project, userId, id);
  const recent = (await sessions.active(db, project, userId)).at(-1);
  if (recent === undefined && id === 'recent') throw new Failure('user_session_not_found');
  return recent ?? null;
}

async function listLogs(deps: ManagementDeps, call: Call<Api['listLogs']>) {
  const { db, activity } = deps;
  const { project, query } = call;
  const account = await userOfCall(deps, call);
  const found = await activity.list(db, project.id, account.id, parsePage(query.queries, logPage));
  const total = query.total ? await activity.count(db, project.id, account.id) : 0;
  return { total, logs: found.map((entry) => toLog(account, entry)) };
}

async function listIdentities(
  { identities }: ManagementDeps,
  { project, query, request }: Call<Api['listIdentities']>,
) {
  const { total, identities: found } = await identities.list(project, listRequestOf({ query, request }));
  return { total, identities: found.map((one) => toIdentity(one, identities.tokensOf(project, one))) };
}

function deleteIdentity(deps: ManagementDeps, call: Call<Api['deleteIdentity']>): Promise<void> {
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
