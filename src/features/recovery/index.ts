import { Failure } from '#src/contract/errors.js';
import { by, implement } from '#src/contract/operation.js';
import type { Platform } from '#src/platform/index.js';
import { createDisclosure, toToken } from '../one-time-secrets/index.js';
import type { Projects } from '../projects/index.js';
import { recoveryApi } from './api.js';
import { createRecoveries, type RecoveryDoors } from './service.js';

interface Doors extends RecoveryDoors {
  readonly projects: Projects;
}

/** A new password for who has lost the old one. */
export function createRecovery(platform: Pick<Platform, 'db' | 'sealing' | 'config'>, doors: Doors) {
  const { db } = platform;
  const { accounts, users, secrets, limits, projects } = doors;
  const recoveries = createRecoveries(platform, doors);
  const disclosure = createDisclosure(platform);
  const operations = implement(recoveryApi, {
    request: async (call) => {
      const { project, body, request } = call;
      const page = projects.demandOwnUrl(project, body.url);
      const asked = { email: body.email, page, locale: request.locale };
      const issued = await db.work(by(call), (unit) => recoveries.request(unit, project, asked));
      return toToken(issued, disclosure.ofProof(call, issued.secret));
    },
    complete: async (call) => {
      const { project, actor, request, body } = call;
      const { userId, secret, password } = body;
      // Only who holds the link may make us hash, or is told what the password policy knows of the user; and a password that it
      // refuses leaves the link as it was.
      const owner = await secrets.ownerOf(project, { purposes: ['recovery'], userId, secret });
      const account = owner === undefined ? undefined : await accounts.find(db, project.id, owner);
      if (account === undefined)
        return db.work(by(call), async (unit) => {
          const known = await accounts.find(unit, project.id, userId);
          return recoveries.refuse(unit, known?.id, request.ip);
        });
      if (!account.status) throw new Failure('user_blocked');
      const passwordHash = await users.preparePassword(project, account, account.email, password);
      const redeemed = await db.work(by(call), async (unit) => {
        const given = { userId: account.id, secret, passwordHash, ip: request.ip };
        const completed = await recoveries.complete(unit, project, given);
        if (completed instanceof Failure) return completed;
        // Who was locked out by too many wrong guesses gets in again by the new password.
        const address = actor.kind === 'key' ? {} : { address: request.ip };
        await limits.forgive(unit, 'login', { account: completed.recipient, ...address });
        return completed;
      });
      return toToken({ ...redeemed, userId: redeemed.alias, secret: '' }, '');
    },
  });
  return { operations };
}
