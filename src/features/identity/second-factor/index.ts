import { Failure } from '#src/contract/errors.js';
import { implement } from '#src/contract/operation.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { channelOf } from '../factors/index.js';
import { type CallByUser, toNewSession, workOnCaller } from '../sessions/index.js';
import { toUser, type Users } from '../users/index.js';
import { secondFactorApi } from './api.js';
import { answerChallenge, beginChallenge, type ChallengeDeps } from './challenges.js';
import { createSecondFactorService } from './service.js';
import { createChallengeStore } from './store.js';
import { toChallenge, toFactors, toMasks } from './view.js';

export type { SecondFactorService } from './service.js';
export { factorsShape, recoveryCodesShape, toFactors, toMasks } from './view.js';

interface Deps extends ChallengeDeps, Pick<Runtime, 'db'> {
  readonly users: Users;
}

type Act<T> = (unit: Unit, account: UserRecord) => Promise<T>;

/** Second factors of the signed-in user: enrolment, challenges and recovery codes. */
export function createSecondFactor(given: Omit<Deps, 'store'> & Pick<Runtime, 'sql'>) {
  const deps: Deps = { ...given, store: createChallengeStore(given.sql) };
  const { db, factors, sessions } = deps;
  const service = createSecondFactorService(deps);
  const beginTotp = (call: CallByUser) =>
    workToAdd(deps, call, (unit, account) => factors.beginTotp(unit, call.project, account));
  const operations = implement(secondFactorApi, {
    update: async (call) => {
      if (!call.body.mfa) sessions.requireFresh(call.actor.session);
      const { project, body } = call;
      return toUser(await workOnCaller(deps, call, (unit, account) => service.turn(unit, project, account, body.mfa)));
    },
    factors: async ({ project, actor }) => {
      const usable = await factors.usable(db, project, actor.account);
      const used = actor.session.pending ? channelOf(actor.session.factors) : undefined;
      return toFactors(used === undefined ? usable : { ...usable, [used]: false });
    },
    beginTotp,
    createAuthenticator: beginTotp,
    confirmTotp: (call) =>
      replyOf(
        workToAdd(deps, call, (unit, account) =>
          service.confirmTotpAndTurnOn(unit, call.project, account, call.actor.session, call.body.otp),
        ),
      ),
    updateAuthenticator: (call) =>
      workToAdd(deps, call, async (unit, account) => {
        await service.confirmTotp(unit, call.project, account, call.actor.session, call.body.otp);
        return toUser(account);
      }),
    deleteAuthenticator: (call) =>
      workFresh(deps, call, (unit, account) => service.removeTotp(unit, call.project, account)),
    createChallenge: (call) =>
      workOnCaller(deps, call, async (unit, account) =>
        toChallenge(await beginChallenge(deps, unit, challengedBy(call, account), call.body.factor)),
      ),
    updateChallenge: (call) =>
      workOnCaller(deps, call, async (unit, account) => {
        const { challengeId, otp } = call.body;
        return toNewSession(await answerChallenge(deps, unit, challengedBy(call, account), challengeId, otp));
      }),
    createRecoveryCodes: (call) =>
      replyOf(workToAdd(deps, call, (unit, account) => service.createRecoveryCodes(unit, call.project, account))),
    getRecoveryCodes: async ({ project, actor }) => {
      sessions.requireFresh(actor.session);
      const left = await factors.recoveryCodesLeft(db, project, actor.account);
      if (left === undefined) throw new Failure('user_recovery_codes_not_found');
      return toMasks(left);
    },
    updateRecoveryCodes: (call) =>
      replyOf(workFresh(deps, call, (unit, account) => service.replaceRecoveryCodes(unit, call.project, account))),
  });
  return { service, operations };
}

/** `workOnCaller` to add a factor. Any session may add the first one; adding another requires a recent login or challenge. */
function workToAdd<T>(deps: Deps, call: CallByUser, act: Act<T>): Promise<T> {
  return workOnCaller(deps, call, async (unit, account) => {
    if (await deps.factors.isOn(unit, call.project, account)) deps.sessions.requireFresh(call.actor.session);
    return act(unit, account);
  });
}

/** `workOnCaller` that requires a recent login or challenge. */
async function workFresh<T>(deps: Deps, call: CallByUser, act: Act<T>): Promise<T> {
  deps.sessions.requireFresh(call.actor.session);
  return workOnCaller(deps, call, act);
}

async function replyOf(recoveryCodes: Promise<string[]>) {
  return { recoveryCodes: await recoveryCodes };
}

function challengedBy({ project, actor, request }: CallByUser, account: UserRecord) {
  return { project, account, session: actor.session, request };
}
