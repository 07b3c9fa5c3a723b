import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { type Passkeys, toPasskeyList } from '../../passkeys/index.js';
import type { UserChanges, Users } from '../../users/index.js';
import { managedPasskeysApi } from './api.js';

interface Deps {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly passkeys: Passkeys;
}

/** Creates the operations of server keys on passkeys of users. They require no proof from the user. */
export function createManagedPasskeys({ db }: Pick<Runtime, 'db'>, { users, userChanges, passkeys }: Deps) {
  return implement(managedPasskeysApi, {
    list: async ({ project, params }) => {
      const { id } = await users.get(db, project.id, params.userId);
      return toPasskeyList(await passkeys.list(db, project, id));
    },
    delete: (call) =>
      db.work(auditContextOf(call), async (unit) => {
        const account = await userChanges.lockById(unit, call.project, call.params.userId);
        await passkeys.remove(unit, call.project, account, call.params.passkeyId);
      }),
  });
}
