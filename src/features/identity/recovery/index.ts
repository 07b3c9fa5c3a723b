import { Failure } from '#src/contract/errors.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import { createDisclosure, toToken } from '../one-time-secrets/index.js';
import { recoveryApi } from './api.js';
import { completeRecovery, type RecoveryDeps, refuseRecovery, requestRecovery } from './service.js';

interface Deps extends RecoveryDeps, Pick<Runtime, 'db' | 'config'> {
  readonly projects: Projects;
}

/** Recovery of accounts with a lost password. */
export function createRecovery(deps: Deps) {
  const { db, users, userChanges, secrets, limits, projects } = deps;
  const disclosure = createDisclosure(deps);
  const operations = implement(recoveryApi, {
    request: async (call) => {
      const { project, actor, body, request } = call;
      const page = projects.requireOwnUrl(project, body.url);
      const options = { email: body.email, page, locale: request.locale, actor };
      const issued = await db.work(auditContextOf(call), (unit) => requestRecovery(deps, unit, project, options));
      return toToken(issued, disclosure.ofProof(call, issued.secret));
    },
    complete: async (call) => {
      const { project, actor, request, body } = call;
      const { userId, secret, password } = body;
      // Only the holder of the link can make the server hash a password or learn from the password policy about the user. A password that
      // the policy rejects does not use up the link.
      const owner = await secrets.ownerOf(project, { purposes: ['recovery'], userId, secret });
      const account = owner === undefined ? undefined : await users.find(db, project.id, owner);
      if (account === undefined)
        return db.work(auditContextOf(call), async (unit) => {
          const named = await users.find(unit, project.id, userId);
          throw refuseRecovery(unit, named?.id, request.ip);
        });
      if (!account.status) throw new Failure('user_blocked');
      const given = { email: account.email, password, address: request.ip };
      const passwordHash = await userChanges.preparePassword(project, account, given);
      const redeemed = await db.work(auditContextOf(call), async (unit) => {
        const redemption = { userId: account.id, secret, passwordHash, ip: request.ip, actor };
        const completed = await completeRecovery(deps, unit, project, redemption);
        // A user locked out by too many wrong guesses can log in with the new password.
        const address = actor.kind === 'key' ? {} : { address: request.ip };
        await limits.forgive(unit, 'login', { account: completed.recipient, ...address });
        return completed;
      });
      return toToken({ ...redeemed, secret: '' }, '');
    },
  });
  return { operations };
}
