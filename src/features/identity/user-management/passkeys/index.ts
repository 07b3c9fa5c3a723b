import { implement } from '#src/contract/operation.js';
import { toPasskeyList } from '../../passkeys/index.js';
import { type ManagementDeps, userOfCall, workOnUser } from '../model/keys.js';
import { managedPasskeysApi } from './api.js';

/** Creates the operations of server keys on passkeys of users. They require no proof from the user. */
export function createManagedPasskeys(deps: ManagementDeps) {
  const { db, passkeys } = deps;
  return implement(managedPasskeysApi, {
    list: async (call) => {
      const { id } = await userOfCall(deps, call);
      return toPasskeyList(await passkeys.list(db, call.project, id));
    },
    delete: (call) =>
      workOnUser(deps, call, (unit, account) => passkeys.remove(unit, call.project, account, call.params.passkeyId)),
  });
}
