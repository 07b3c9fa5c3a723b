import { Failure } from '#src/contract/errors.js';
import { logPage } from '#src/contract/limits.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Runtime } from '#src/platform/index.js';
import { listRequestOf, parsePage } from '#src/platform/list-query/index.js';
import { type ActivityLog, toLog } from '../../../events/index.js';
import { type Identities, toIdentity } from '../../identities/index.js';
import { type OneTimeSecrets, toToken } from '../../one-time-secrets/index.js';
import { type Sessions, toNewSession, toSession } from '../../sessions/index.js';
import type { Tokens } from '../../tokens/index.js';
import type { UserChanges, Users } from '../../users/index.js';
import { accessApi } from './api.js';

interface Deps {
  readonly userChanges: UserChanges;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly tokens: Tokens;
  readonly activity: ActivityLog;
  readonly identities: Identities;
  /** What tokens that log a user in are issued for. */
  readonly tokenPurpose: string;
}

/** How server keys let users in and put them out. */
export function createAccess({ db, random }: Pick<Runtime, 'db' | 'random'>, deps: Deps) {
  const { users, sessions, secrets, userChanges, tokens, activity, identities, tokenPurpose } = deps;
  /** The session a token is made of: the newest, the one that is named, or none. */
  const sessionFor = async (project: Project, userId: string, id: string): Promise<Session | null> => {
    if (id === '') return null;
    if (id !== 'recent') return sessions.get(db, project, userId, id);
    const recent = (await sessions.active(db, project, userId)).at(-1);
    if (recent === undefined) throw new Failure('user_session_not_found');
    return recent;
  };
  return implement(accessApi, {
    listSessions: async ({ project, params, query }) => {
      const account = await users.get(db, project.id, params.userId);
      const found = await sessions.active(db, project, account.id);
      const tokensOf = await identities.tokensOfSessions(db, project, account.id);
      return {
        total: query.total ? found.length : 0,
        sessions: found.map((one) => toSession(one, undefined, tokensOf(one))),
      };
    },
    createSession: async (call) => {
      const { project, params } = call;
      // What the backend itself presents is not the browser's.
      const request = { ...call.request, presentedSession: null };
      const opened = await db.work(auditContextOf(call), async (unit) => {
        const account = await userChanges.lockById(unit, project, params.userId);
        if (!account.status) throw new Failure('user_blocked');
        const login = { provider: 'server', providerUid: '', factors: ['server'], request };
        return sessions.open(unit, project, account, login);
      });
      return { ...toNewSession(opened.session, opened.secret), current: false };
    },
    deleteSessions: (call) =>
      db.work(auditContextOf(call), async (unit) => {
        const account = await userChanges.lockById(unit, call.project, call.params.userId);
        await sessions.closeAll(unit, call.project, account.id);
      }),
    deleteSession: (call) =>
      db.work(auditContextOf(call), async (unit) => {
        const { project, params } = call;
        const account = await userChanges.lockById(unit, project, params.userId);
        await sessions.close(unit, project, await sessions.get(unit, project, account.id, params.sessionId));
      }),
    createToken: async (call) => {
      const { project, params, body } = call;
      const issued = await db.work(auditContextOf(call), async (unit) => {
        const account = await userChanges.lockById(unit, project, params.userId);
        if (!account.status) throw new Failure('user_blocked');
        unit.record('accountTokenCreated', {
          resource: `users/${account.id}`,
          userId: account.id,
          payload: { userId: account.id },
        });
        // Several may be open at once, for several devices: each is a subject of its own.
        const subject = `${account.id}/${random.id()}`;
        const form = { length: body.length };
        const wanted = { purpose: tokenPurpose, subject, userId: account.id, recipient: '', form } as const;
        return secrets.issue(unit, project, { ...wanted, lifeSeconds: body.expire });
      });
      return toToken(issued, issued.secret);
    },
    createJwt: async (call) => {
      const { project, params, body, actor } = call;
      const account = await users.get(db, project.id, params.userId);
      if (!account.status) throw new Failure('user_blocked');
      const session = await sessionFor(project, account.id, body.sessionId);
      const jwt = await tokens.mint(project, account, session, { ...body, actingKey: actor.id });
      // Signing waits for more than the database, so it comes first; nobody has the token before its making is recorded.
      return db.work(auditContextOf(call), async (unit) => {
        const { id: userId, status } = await userChanges.lockById(unit, project, account.id);
        if (!status) throw new Failure('user_blocked');
        const { alg, duration } = body;
        const payload = { userId, sessionId: session?.id ?? '', alg, duration };
        unit.record('accountJwtCreated', { resource: `users/${userId}`, userId, payload });
        return { jwt };
      });
    },
    listLogs: async ({ project, params, query }) => {
      const account = await users.get(db, project.id, params.userId);
      const found = await activity.list(db, project.id, account.id, parsePage(query.queries, logPage));
      const total = query.total ? await activity.count(db, project.id, account.id) : 0;
      return { total, logs: found.map((entry) => toLog(account, entry)) };
    },
    listIdentities: async ({ project, query, request }) => {
      const { total, identities: found } = await identities.list(project, listRequestOf({ query, request }));
      return { total, identities: found.map((one) => toIdentity(one, identities.tokensOf(project, one))) };
    },
    deleteIdentity: (call) =>
      db.work(auditContextOf(call), async (unit) => {
        const { project, params } = call;
        const identity = await identities.findById(unit, project, params.identityId);
        if (identity === undefined) throw new Failure('user_identity_not_found');
        const user = await userChanges.lockById(unit, project, identity.userId);
        await identities.unlink(unit, project, user, identity);
        await sessions.closeOfIdentity(unit, project, identity);
      }),
  });
}
