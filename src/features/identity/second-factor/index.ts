import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf, implement, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Courier, Limits } from '../../installation/index.js';
import { channelOf, type Factors } from '../factors/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import { type Sessions, toNewSession } from '../sessions/index.js';
import { toUser, type Users } from '../users/index.js';
import { secondFactorApi } from './api.js';
import { createChallenges } from './challenges.js';
import { createSecondFactorService } from './service.js';
import { toChallenge, toFactors, toMasks } from './view.js';

export type { SecondFactorService } from './service.js';
export { factorsShape, recoveryCodesShape, toFactors, toMasks } from './view.js';

interface Deps {
  readonly users: Users;
  readonly factors: Factors;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly limits: Limits;
  /** The setting that switches the way to log in by which a session came. */
  readonly loginSwitchOf: Parameters<typeof createChallenges>[1]['loginSwitchOf'];
}

type UserCall = { readonly project: Project; readonly actor: User; readonly request: RequestFacts };

/** The second factor of the signed-in user: enrolment, challenges, recovery codes. */
export function createSecondFactor(runtime: Pick<Runtime, 'db' | 'sql' | 'random' | 'config'>, deps: Deps) {
  const { db } = runtime;
  const { factors, sessions } = deps;
  const service = createSecondFactorService(deps);
  const challenges = createChallenges(runtime, deps);

  /** Works on the caller's account as it is now, which nobody else changes meanwhile. */
  const work = <T>(call: UserCall, act: (unit: Unit, account: UserRecord) => Promise<T>) =>
    db.work(auditContextOf(call), async (unit) => act(unit, await sessions.holdCaller(unit, call.project, call.actor)));
  /** The first factor may be added by any session; where there is one already, a further one needs a fresh proof. */
  const demandMayAdd = async (unit: Unit, { project, actor }: UserCall, account: UserRecord): Promise<void> => {
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
          await service.confirmTotp(unit, call.project, account, call.actor.session, call.body.otp);
          return account;
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
