import { Failure } from '#src/contract/errors.js';
import { by, implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import type { Limits } from '../../limits/index.js';
import { type Sessions, toNewSession } from '../../sessions/index.js';
import { passwordLoginApi } from './api.js';

/** Login by e-mail address and password. Unknown address, no password and wrong password are one and the same answer, in the same time. */
export function createPasswordLogin(
  { db }: Pick<Platform, 'db'>,
  doors: { accounts: Accounts; sessions: Sessions; limits: Limits },
) {
  const { accounts, sessions, limits } = doors;
  const operations = implement(passwordLoginApi, {
    login: async (call) => {
      const { project, request, body } = call;
      const { email, password } = body;
      await db.work(by(call), (unit) => limits.demand(unit, 'login', { account: email }));
      const account = await accounts.findByEmail(db, project.id, email);
      const { fits, outdated } = await accounts.verifyPassword(project, account, password);
      const rehashed = outdated ? await accounts.hashPassword(project, password) : undefined;

      const opened = await db.work(by(call), async (unit) => {
        const refuse = (reason: string, failure: Failure) => {
          const resource = account === undefined ? 'users' : `users/${account.id}`;
          const payload = { method: 'password', email, ip: request.ip, reason };
          unit.record('loginFailed', { resource, payload, ...(account === undefined ? {} : { userId: account.id }) });
          return failure;
        };
        if (account === undefined) return refuse('unknown address', new Failure('user_invalid_credentials'));
        if (!fits) return refuse('wrong password', new Failure('user_invalid_credentials'));
        // Read again: a block or another password may have come while the hash was computed, or come now and end only the sessions it
        // sees. A parallel login may have replaced the hash of the same password, so the hashes themselves say nothing.
        const current = await accounts.hold(unit, project.id, account.id);
        if (current?.passwordUpdate !== account.passwordUpdate)
          return refuse('password changed meanwhile', new Failure('user_invalid_credentials'));
        if (!current.status) return refuse('blocked', new Failure('user_blocked'));
        // A server key is never counted by address, so there is nothing to give back there.
        await limits.forgive(unit, 'login', {
          account: email,
          ...(call.actor.kind === 'key' ? {} : { address: request.ip }),
        });
        if (rehashed !== undefined) await accounts.update(unit, project.id, current, { passwordHash: rehashed });
        return sessions.open(unit, project, current, {
          provider: 'email',
          providerUid: email,
          factors: ['password'],
          request,
          otp: body.otp,
        });
      });
      return toNewSession(opened.session, opened.secret);
    },
  });
  return { operations };
}
