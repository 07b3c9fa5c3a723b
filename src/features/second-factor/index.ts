import type { Account } from '#src/contract/account.js';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { by, implement, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { type Accounts, toUser } from '../accounts/index.js';
import type { Courier } from '../courier/index.js';
import { channelOf, type Factors } from '../factors/index.js';
import type { Limits } from '../limits/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import { type Sessions, toNewSession } from '../sessions/index.js';
import { secondFactorApi } from './api.js';
import { createChallenges } from './challenges.js';
import { createSecondFactorService } from './service.js';
import { toChallenge, toFactors, toMasks } from './view.js';

export type { SecondFactorService } from './service.js';
export { factorsShape, recoveryCodesShape, toFactors, toMasks } from './view.js';

interface Doors {
  readonly accounts: Accounts;
  readonly factors: Factors;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly limits: Limits;
}

type UserCall = { readonly project: Project; readonly actor: User; readonly request: RequestFacts };

/** The second factor of the signed-in user: enrolment, challenges, recovery codes. */
export function createSecondFactor(platform: Pick<Platform, 'db' | 'sql' | 'random' | 'config'>, doors: Doors) {
  const { db } = platform;
  const { accounts, factors, sessions } = doors;
  const service = createSecondFactorService(doors);
  const challenges = createChallenges(platform, doors);

  /** Works on the caller's account as it is now, which nobody else changes meanwhile. */
  const work = <T>(call: UserCall, act: (unit: Unit, account: Account) => Promise<T>) =>
    db.work(by(call), async (unit) => {
      const account = await accounts.hold(unit, call.project.id, call.actor.id);
      if (account === undefined) throw new Failure('general_unauthorized_scope');
      if (!account.status) throw new Failure('user_blocked');
      return act(unit, account);
    });
  /** The first factor may be added by any session; where there is one already, a further one needs a fresh proof. */
  const demandMayAdd = async (unit: Unit, { project, actor }: UserCall, account: Account): Promise<void> => {
    if (await factors.isOn(unit, project, account)) sessions.demandFresh(actor.session);
  };
  const beginTotp = (call: UserCall) =>
    work(call, async (unit, account) => {
      await demandMayAdd(unit, call, account);
      return factors.beginTotp(unit, call.project, account);
    });

  const operations = implement(secondFactorApi, {
    update: async (call) => {
      if (!call.body.mfa) sessions.demandFresh(call.actor.session);
      return toUser(await work(call, (unit, account) => service.turn(unit, call.project, account, call.body.mfa)));
    },
    factors: async ({ project, actor }) => {
      const usable = await factors.usable(db, project, actor.account);
      const used = actor.session.pending ? channelOf(actor.session.factors) : undefined;
      return toFactors(used === undefined ? usable : { ...usable, [used]: false });
    },
    beginTotp,
    createAuthenticator: beginTotp,
    confirmTotp: async (call) => ({
      recoveryCodes: await work(call, async (unit, account) => {
        await demandMayAdd(unit, call, account);
        return service.confirmTotpAndTurnOn(unit, call.project, account, call.actor.session, call.body.otp);
      }),
    }),
    updateAuthenticator: async (call) =>
      toUser(
        await work(call, async (unit, account) => {
          await demandMayAdd(unit, call, account);
          const confirmed = await service.confirmTotp(unit, call.project, account, call.actor.session, call.body.otp);
          return confirmed === true ? account : confirmed;
        }),
      ),
    deleteAuthenticator: async (call) => {
      sessions.demandFresh(call.actor.session);
      await work(call, (unit, account) => service.removeTotp(unit, call.project, account));
    },
    createChallenge: async (call) => {
      const { project, actor, request, body } = call;
      const begun = await work(call, (unit, account) =>
        challenges.begin(unit, { project, account, session: actor.session, request }, body.factor),
      );
      return toChallenge(begun);
    },
    updateChallenge: async (call) => {
      const { project, actor, request, body } = call;
      const opened = await work(call, (unit, account) => {
        const challenged = { project, account, session: actor.session, request };
        return challenges.answer(unit, challenged, body.challengeId, body.otp);
      });
      return toNewSession(opened.session, opened.secret);
    },
    createRecoveryCodes: async (call) => ({
      recoveryCodes: await work(call, async (unit, account) => {
        await demandMayAdd(unit, call, account);
        return service.createRecoveryCodes(unit, call.project, account);
      }),
    }),
    getRecoveryCodes: async ({ project, actor }) => {
      sessions.demandFresh(actor.session);
      const left = await factors.recoveryCodesLeft(db, project, actor.account);
      if (left === undefined) throw new Failure('user_recovery_codes_not_found');
      return toMasks(left);
    },
    updateRecoveryCodes: async (call) => {
      sessions.demandFresh(call.actor.session);
      return {
        recoveryCodes: await work(call, (unit, account) => service.replaceRecoveryCodes(unit, call.project, account)),
      };
    },
  });
  return { service, operations };
}
