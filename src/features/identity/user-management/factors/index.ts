import { Failure } from '#src/contract/errors.js';
import { implement } from '#src/contract/operation.js';
import { toFactors, toMasks } from '../../second-factor/index.js';
import { type ManagementDeps, printing, userOfCall, workOnUser } from '../model/keys.js';
import { managedFactorsApi } from './api.js';

/** Creates the operations of server keys on second factors of users. They require no proof from the user. */
export function createManagedFactors(deps: ManagementDeps) {
  const { db, factors, secondFactor } = deps;
  const shown = printing(deps);
  return implement(managedFactorsApi, {
    update: async (call) =>
      shown(
        call.project,
        await workOnUser(deps, call, (unit, account) => secondFactor.turn(unit, call.project, account, call.body.mfa)),
      ),
    list: async (call) => toFactors(await factors.usable(db, call.project, await userOfCall(deps, call))),
    deleteAuthenticator: (call) =>
      workOnUser(deps, call, (unit, account) => secondFactor.removeTotp(unit, call.project, account)),
    getRecoveryCodes: async (call) => {
      const left = await factors.recoveryCodesLeft(db, call.project, await userOfCall(deps, call));
      if (left === undefined) throw new Failure('user_recovery_codes_not_found');
      return toMasks(left);
    },
    createRecoveryCodes: async (call) => ({
      recoveryCodes: await workOnUser(deps, call, (unit, account) =>
        secondFactor.createRecoveryCodes(unit, call.project, account),
      ),
    }),
    updateRecoveryCodes: async (call) => ({
      recoveryCodes: await workOnUser(deps, call, (unit, account) =>
        secondFactor.replaceRecoveryCodes(unit, call.project, account),
      ),
    }),
  });
}
