import { Failure } from '#src/contract/errors.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Factors } from '../../factors/index.js';
import { type SecondFactorService, toFactors, toMasks } from '../../second-factor/index.js';
import type { UserChanges, Users } from '../../users/index.js';
import { type OfUser, printing } from '../model/keys.js';
import { managedFactorsApi } from './api.js';

interface Deps {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly factors: Factors;
  readonly secondFactor: SecondFactorService;
}

/** Creates the operations of server keys on second factors of users. They require no proof from the user. */
export function createManagedFactors({ db }: Pick<Runtime, 'db'>, deps: Deps) {
  const { users, userChanges, factors, secondFactor } = deps;
  const shown = printing(users);
  const find = ({ project, params }: OfUser) => users.get(db, project.id, params.userId);
  const work = <T>(call: OfUser, act: (unit: Unit, account: UserRecord) => Promise<T>) =>
    db.work(auditContextOf(call), async (unit) =>
      act(unit, await userChanges.lockById(unit, call.project, call.params.userId)),
    );
  return implement(managedFactorsApi, {
    update: async (call) =>
      shown(
        call.project,
        await work(call, (unit, account) => secondFactor.turn(unit, call.project, account, call.body.mfa)),
      ),
    list: async (call) => toFactors(await factors.usable(db, call.project, await find(call))),
    deleteAuthenticator: (call) => work(call, (unit, account) => secondFactor.removeTotp(unit, call.project, account)),
    getRecoveryCodes: async (call) => {
      const left = await factors.recoveryCodesLeft(db, call.project, await find(call));
      if (left === undefined) throw new Failure('user_recovery_codes_not_found');
      return toMasks(left);
    },
    createRecoveryCodes: async (call) => ({
      recoveryCodes: await work(call, (unit, account) => secondFactor.createRecoveryCodes(unit, call.project, account)),
    }),
    updateRecoveryCodes: async (call) => ({
      recoveryCodes: await work(call, (unit, account) =>
        secondFactor.replaceRecoveryCodes(unit, call.project, account),
      ),
    }),
  });
}
