import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import { by, implement } from '#src/contract/operation.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../../accounts/index.js';
import type { Factors } from '../../factors/index.js';
import { type SecondFactorService, toFactors, toMasks } from '../../second-factor/index.js';
import type { Users } from '../../users/index.js';
import { type OfUser, printing } from '../keys.js';
import { managedFactorsApi } from './api.js';

interface Doors {
  readonly accounts: Accounts;
  readonly users: Users;
  readonly factors: Factors;
  readonly secondFactor: SecondFactorService;
}

/** What server keys do with the second factors of users; nobody has to prove anything for it. */
export function createManagedFactors({ db }: Pick<Platform, 'db'>, doors: Doors) {
  const { accounts, users, factors, secondFactor } = doors;
  const shown = printing(accounts);
  const find = ({ project, params }: OfUser) => accounts.get(db, project.id, params.userId);
  const work = <T>(call: OfUser, act: (unit: Unit, account: Account) => Promise<T>) =>
    db.work(by(call), async (unit) => act(unit, await users.held(unit, call.project, call.params.userId)));
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
