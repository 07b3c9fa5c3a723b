import { Failure } from '#src/contract/errors.js';
import { logPage } from '#src/contract/limits.js';
import { by, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import { type ActivityLog, toLog } from '../../activity/index.js';
import { parsePage } from '../../lists/index.js';
import { type OneTimeSecrets, toToken } from '../../one-time-secrets/index.js';
import { type Sessions, toNewSession, toSession } from '../../sessions/index.js';
import type { Tokens } from '../../tokens/index.js';
import type { Users } from '../../users/index.js';
import { accessApi } from './api.js';

interface Doors {
  readonly users: Users;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly tokens: Tokens;
  readonly activity: ActivityLog;
}

/** How server keys let users in and put them out. */
export function createAccess({ db, random }: Pick<Platform, 'db' | 'random'>, doors: Doors) {
  const { accounts, sessions, secrets, users, tokens, activity } = doors;
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
      const account = await accounts.get(db, project.id, params.userId);
      const found = await sessions.active(db, project, account.id);
      return { total: query.total ? found.length : 0, sessions: found.map((one) => toSession(one, undefined)) };
    },
    createSession: async (call) => {
      const { project, params } = call;
      // What the backend itself presents is not the browser's.
      const request = { ...call.request, presentedSession: null };
      const opened = await db.work(by(call), async (unit) => {
        const account = await users.held(unit, project, params.userId);
        if (!account.status) return new Failure('user_blocked');
        const login = { provider: 'server', providerUid: '', factors: ['server'], request };
        return sessions.open(unit, project, account, login);
      });
      return { ...toNewSession(opened.session, opened.secret), current: false };
    },
    deleteSessions: (call) =>
      db.work(by(call), async (unit) => {
        const account = await users.held(unit, call.project, call.params.userId);
        await sessions.closeAll(unit, call.project, account.id);
      }),
    deleteSession: (call) =>
      db.work(by(call), async (unit) => {
        const { project, params } = call;
        const account = await users.held(unit, project, params.userId);
        await sessions.close(unit, project, await sessions.get(unit, project, account.id, params.sessionId));
      }),
    createToken: async (call) => {
      const { project, params, body } = call;
      const issued = await db.work(by(call), async (unit) => {
        const account = await users.held(unit, project, params.userId);
        if (!account.status) return new Failure('user_blocked');
        unit.record('accountTokenCreated', {
          ...{ resource: `users/${account.id}`, userId: account.id, payload: { userId: account.id } },
        });
        // Several may be open at once, for several devices: each is a subject of its own.
        const subject = `${account.id}/${random.id()}`;
        const form = { length: body.length };
        const wanted = { purpose: 'server-token', subject, userId: account.id, recipient: '', form } as const;
        return secrets.issue(unit, project, { ...wanted, lifeSeconds: body.expire });
      });
      return toToken(issued, issued.secret);
    },
    createJwt: async ({ project, params, body }) => {
      const account = await accounts.get(db, project.id, params.userId);
      if (!account.status) throw new Failure('user_blocked');
      const session = await sessionFor(project, account.id, body.sessionId);
      return { jwt: await tokens.mint(project, account, session, body) };
    },
    listLogs: async ({ project, params, query }) => {
      const account = await accounts.get(db, project.id, params.userId);
      const found = await activity.list(db, project.id, account.id, parsePage(query.queries, logPage));
      const total = query.total ? await activity.count(db, project.id, account.id) : 0;
      return { total, logs: found.map((entry) => toLog(account, entry)) };
    },
    listIdentities: () => ({ total: 0, identities: [] }),
    deleteIdentity: () => {
      throw new Failure('user_identity_not_found');
    },
  });
}
