import { type ErrorType, Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Runtime } from '#src/platform/index.js';
import { type OpenedSession, toNewSession } from '../../sessions/index.js';
import { refusalRecord } from '../../users/index.js';
import type { LoginMethod, LoginToolkit } from '../method/method.js';
import { passwordLoginApi } from './api.js';

const provider = 'email';
const factor = 'password';

/** Login with email address and password. Unknown address, no password and wrong password get the same response in the same time. */
export const password: LoginMethod = {
  provider,
  reserved: [factor],
  login: 'login.password',
  factor,
  alerts: true,
  operations: (runtime, toolkit) => {
    const logIn = createPasswordLogin(runtime, toolkit);
    return implement(passwordLoginApi, {
      login: async (call) => {
        const account = call.body.email;
        return toNewSession(
          await toolkit.limits.attempt(auditContextOf(call), 'login', { account }, () => logIn(call)),
        );
      },
    });
  },
};

function createPasswordLogin({ db }: Pick<Runtime, 'db'>, { users, sessions, limits }: LoginToolkit) {
  /** Hashes the password again with current parameters. Skipped if hashing is busy, because the login does not need it. */
  const renewHash = (
    project: Project,
    account: UserRecord,
    password: string,
    ip: string,
  ): Promise<string | undefined> =>
    users.hashPassword(project, account, password, ip).catch((error: unknown) => {
      if (error instanceof Failure && error.type === 'general_unavailable') return undefined;
      throw error;
    });
  return async (call: Call<(typeof passwordLoginApi)['login']>): Promise<OpenedSession> => {
    const { project, request, body } = call;
    const { email, password } = body;
    const account = await users.findByEmail(db, project.id, email);
    const whose = { email, user: account };
    const { fits, outdated } = await users.verifyPassword(project, whose, password, request.ip);
    const rehashed = outdated && account ? await renewHash(project, account, password, request.ip) : undefined;

    return db.work(auditContextOf(call), async (unit) => {
      const refuse = (reason: string, type: ErrorType): never => {
        const payload = { method: 'password', email, ip: request.ip, reason };
        unit.record('loginFailed', refusalRecord(account?.id, payload));
        throw unit.refuse(type);
      };
      if (account === undefined) throw refuse('unknown address', 'user_invalid_credentials');
      if (!fits) throw refuse('wrong password', 'user_invalid_credentials');
      // Read again: a block or a password change may have happened while the hash was computed, or may run now and end only the sessions it
      // sees. Compare `passwordUpdate`, not the hashes: a parallel login may have replaced the hash of the same password.
      const current = await users.lockById(unit, project.id, account.id);
      if (current?.passwordUpdate !== account.passwordUpdate)
        throw refuse('password changed meanwhile', 'user_invalid_credentials');
      if (!current.status) throw refuse('blocked', 'user_blocked');
      // Calls with a server key are not counted by address, so there is nothing to refund.
      await limits.forgive(unit, 'login', {
        account: email,
        ...(call.actor.kind === 'key' ? {} : { address: request.ip }),
      });
      if (rehashed !== undefined) await users.update(unit, project.id, current, { passwordHash: rehashed });
      return sessions.open(unit, project, current, {
        provider,
        providerUid: email,
        factors: [factor],
        request,
        otp: body.otp,
      });
    });
  };
}
