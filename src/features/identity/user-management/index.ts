import { Failure } from '#src/contract/errors.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import { listRequestOf } from '#src/platform/list-query/index.js';
import { importedOf } from '../users/index.js';
import { createAccess } from './access/index.js';
import { managementApi } from './api.js';
import { createManagedFactors } from './factors/index.js';
import { createImports } from './imports/index.js';
import { type ManagementDeps, type OfUser, printing, userOfCall, workOnUser } from './model/keys.js';
import { createManagedPasskeys } from './passkeys/index.js';
import { createTargets } from './targets/index.js';

/** Creates the operations of server keys on the users of a project. */
export function createUserManagement(deps: ManagementDeps) {
  return {
    operations: [
      // Before the operations with a user id in the path, because some have a fixed word in its place.
      ...createAccess(deps),
      ...createImports(deps),
      ...createTargets(deps),
      ...createManagedFactors(deps),
      ...createManagedPasskeys(deps),
      ...createRecords(deps),
    ],
  };
}

function createRecords(deps: ManagementDeps) {
  const { users, userChanges } = deps;
  const shown = printing(deps);
  const changed = async (call: OfUser, act: (unit: Unit, account: UserRecord) => Promise<UserRecord>) =>
    shown(call.project, await workOnUser(deps, call, act));
  return implement(managementApi, {
    list: async ({ project, query, request }) => {
      const { total, users: found } = await users.list(project.id, listRequestOf({ query, request }));
      return { total, users: found.map((account) => shown(project, account)) };
    },
    create: async (call) => {
      const { userId: id, registration, $createdAt, ...body } = call.body;
      const imported = importedOf({ registration, $createdAt });
      const input = { id, ...body, imported, address: call.request.ip };
      return shown(call.project, await userChanges.signUp(auditContextOf(call), call.project, input));
    },
    get: async (call) => shown(call.project, await userOfCall(deps, call)),
    delete: (call) => workOnUser(deps, call, (unit, account) => userChanges.remove(unit, call.project, account)),
    updateName: (call) =>
      changed(call, (unit, account) => userChanges.rename(unit, call.project, account, call.body.name)),
    updateEmail: (call) =>
      changed(call, (unit, account) => userChanges.changeEmail(unit, call.project, account, call.body.email)),
    updatePhone: (call) =>
      changed(call, (unit, account) => userChanges.changePhone(unit, call.project, account, call.body.number)),
    updatePassword: async (call) => {
      const hash = await hashOf(deps, call, call.body.password);
      return changed(call, (unit, account) => userChanges.changePassword(unit, call.project, account, hash));
    },
    updateLabels: (call) =>
      changed(call, (unit, account) => userChanges.changeLabels(unit, call.project, account, call.body.labels)),
    updateStatus: (call) =>
      changed(call, async (unit, account) => {
        if (account.status === call.body.status) return account;
        return userChanges[call.body.status ? 'unblock' : 'block'](unit, call.project, account);
      }),
    updateEmailVerification: (call) =>
      changed(call, (unit, account) =>
        userChanges.setVerification(unit, call.project, account, 'email', call.body.emailVerification),
      ),
    updatePhoneVerification: (call) =>
      changed(call, (unit, account) =>
        userChanges.setVerification(unit, call.project, account, 'phone', call.body.phoneVerification),
      ),
    getPrefs: async (call) => ({ ...(await userOfCall(deps, call)).prefs }),
    updatePrefs: async (call) => {
      const account = await workOnUser(deps, call, (unit, current) =>
        userChanges.changePrefs(unit, call.project, current, call.body.prefs),
      );
      return { ...account.prefs };
    },
    updateImpersonator: async (call) => {
      await userOfCall(deps, call);
      throw new Failure('general_feature_unsupported');
    },
  });
}

/** The stored form of a new password; null for an empty one, which removes the password. */
async function hashOf(deps: ManagementDeps, call: OfUser, password: string): Promise<string | null> {
  const account = await userOfCall(deps, call);
  if (password === '') return null;
  const given = { email: account.email, password, address: call.request.ip };
  return deps.userChanges.preparePassword(call.project, account, given);
}
