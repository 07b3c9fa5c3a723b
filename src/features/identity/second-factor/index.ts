import { Failure } from '#src/contract/errors.js';
import { implement } from '#src/contract/operation.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Courier, Limits } from '../../installation/index.js';
import { channelOf, type Factors } from '../factors/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import { type CallByUser, type Sessions, toNewSession, workOnCaller } from '../sessions/index.js';
import { toUser, type Users } from '../users/index.js';
import { secondFactorApi } from './api.js';
import { createSecondFactorChallenges } from './challenges.js';
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
  /** Returns the setting that switches off the login method of a session. */
  readonly loginSwitchOf: Parameters<typeof createSecondFactorChallenges>[1]['loginSwitchOf'];
}

type Shared = Pick<Runtime, 'db'> & Pick<Deps, 'factors' | 'sessions'>;
type Act<T> = (unit: Unit, account: UserRecord) => Promise<T>;

/** Second factors of the signed-in user: enrolment, challenges and recovery codes. */
export function createSecondFactor(runtime: Pick<Runtime, 'db' | 'sql' | 'random' | 'config'>, deps: Deps) {
  const shared: Shared = { ...runtime, ...deps };
  const { db, factors, sessions } = shared;
  const service = createSecondFactorService(deps);
  const challenges = createSecondFactorChallenges(runtime, deps);
  const beginTotp = (call: CallByUser) =>
    workToAdd(shared, call, (unit, account) => factors.beginTotp(unit, call.project, account));
  const operations = implement(secondFactorApi, {
    update: async (call) => {
      if (!call.body.mfa) sessions.requireFresh(call.actor.session);
      const { project, body } = call;
      return toUser(
        await workOnCaller(shared, call, (unit, account) => service.turn(unit, project, account, body.mfa)),
      );
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
        workToAdd(shared, call, (unit, account) =>
          service.confirmTotpAndTurnOn(unit, call.project, account, call.actor.session, call.body.otp),
        ),
      ),
    updateAuthenticator: (call) =>
      workToAdd(shared, call, async (unit, account) => {
        await service.confirmTotp(unit, call.project, account, call.actor.session, call.body.otp);
        return toUser(account);
      }),
    deleteAuthenticator: (call) =>
      workFresh(shared, call, (unit, account) => service.removeTotp(unit, call.project, account)),
    createChallenge: (call) =>
      workOnCaller(shared, call, async (unit, account) =>
        toChallenge(await challenges.begin(unit, challengedBy(call, account), call.body.factor)),
      ),
    updateChallenge: (call) =>
      workOnCaller(shared, call, async (unit, account) => {
        const { challengeId, otp } = call.body;
        return toNewSession(await challenges.answer(unit, challengedBy(call, account), challengeId, otp));
      }),
    createRecoveryCodes: (call) =>
      replyOf(workToAdd(shared, call, (unit, account) => service.createRecoveryCodes(unit, call.project, account))),
    getRecoveryCodes: async ({ project, actor }) => {
      sessions.requireFresh(actor.session);
      const left = await factors.recoveryCodesLeft(db, project, actor.account);
      if (left === undefined) throw new Failure('user_recovery_codes_not_found');
      return toMasks(left);
    },
    updateRecoveryCodes: (call) =>
      replyOf(workFresh(shared, call, (unit, account) => service.replaceRecoveryCodes(unit, call.project, account))),
  });
  return { service, operations };
}

/** `workOnCaller` to add a factor. Any session may add the first one; adding another requires a recent login or challenge. */
function workToAdd<T>(shared: Shared, call: CallByUser, act: Act<T>): Promise<T> {
  return workOnCaller(shared, call, async (unit, account) => {
    if (await shared.factors.isOn(unit, call.project, account)) shared.sessions.requireFresh(call.actor.session);
    return act(unit, account);
  });
}

/** `workOnCaller` that requires a recent login or challenge. */
async function workFresh<T>(shared: Shared, call: CallByUser, act: Act<T>): Promise<T> {
  shared.sessions.requireFresh(call.actor.session);
  return workOnCaller(shared, call, act);
}

async function replyOf(recoveryCodes: Promise<string[]>) {
  return { recoveryCodes: await recoveryCodes };
}

function challengedBy({ project, actor, request }: CallByUser, account: UserRecord) {
  return { project, account, session: actor.session, request };
}
