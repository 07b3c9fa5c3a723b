import { Failure } from '#src/contract/errors.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type Lists, listRequestOf } from '#src/platform/list-query/index.js';
import type { ActivityLog } from '../../events/index.js';
import type { Factors } from '../factors/index.js';
import type { Identities } from '../identities/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { Passkeys } from '../passkeys/index.js';
import type { SecondFactorService } from '../second-factor/index.js';
import type { Sessions } from '../sessions/index.js';
import type { Tokens } from '../tokens/index.js';
import { importedOf, type UserChanges, type Users } from '../users/index.js';
import { createAccess } from './access/index.js';
import { managementApi } from './api.js';
import { createManagedFactors } from './factors/index.js';
import { createImports } from './imports/index.js';
import { type OfUser, printing } from './model/keys.js';
import { createManagedPasskeys } from './passkeys/index.js';
import { createTargets } from './targets/index.js';

interface Deps {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly userChanges: UserChanges;
  readonly lists: Lists;
  readonly tokens: Tokens;
  readonly activity: ActivityLog;
  readonly factors: Factors;
  readonly identities: Identities;
  readonly secondFactor: SecondFactorService;
  readonly passkeys: Passkeys;
  /** Purpose of the one-time login tokens. */
  readonly tokenPurpose: string;
}

/** Creates the operations of server keys on the users of a project. */
export function createUserManagement(runtime: Pick<Runtime, 'db' | 'sql' | 'random'>, deps: Deps) {
  const { users, userChanges } = deps;
  const { db } = runtime;
  return {
    operations: [
      // Before the operations with a user id in the path, because some have a fixed word in its place.
      ...createAccess(runtime, deps),
      ...createImports(userChanges, users),
      ...createTargets(runtime, deps),
      ...createManagedFactors(runtime, deps),
      ...createManagedPasskeys(runtime, deps),
      ...createRecords({ db, users, userChanges }),
    ],
  };
}

interface RecordDeps extends Pick<Runtime, 'db'>, Pick<Deps, 'users' | 'userChanges'> {}

type Change = (unit: Unit, account: UserRecord) => Promise<UserRecord>;

function createRecords(deps: RecordDeps) {
  const { users, userChanges } = deps;
  const shown = printing(users);
  const changed = async (call: OfUser, act: Change) => shown(call.project, await change(deps, call, act));
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
    get: async (call) => shown(call.project, await find(deps, call)),
    delete: (call) => remove(deps, call),
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
    getPrefs: async (call) => ({ ...(await find(deps, call)).prefs }),
    updatePrefs: async (call) => {
      const account = await change(deps, call, (unit, current) =>
        userChanges.changePrefs(unit, call.project, current, call.body.prefs),
      );
      return { ...account.prefs };
    },
    updateImpersonator: async (call) => {
      await find(deps, call);
      throw new Failure('general_feature_unsupported');
    },
  });
}

function find({ db, users }: RecordDeps, { project, params }: OfUser): Promise<UserRecord> {
  return users.get(db, project.id, params.userId);
}

/** Changes the current user, locked until the unit ends. */
function change({ db, userChanges }: RecordDeps, call: OfUser, act: Change): Promise<UserRecord> {
  return db.work(auditContextOf(call), async (unit) =>
    act(unit, await userChanges.lockById(unit, call.project, call.params.userId)),
  );
}

function remove({ db, userChanges }: RecordDeps, call: OfUser): Promise<void> {
  return db.work(auditContextOf(call), async (unit) =>
    userChanges.remove(unit, call.project, await userChanges.lockById(unit, call.project, call.params.userId)),
  );
}

/** The stored form of a new password; null for an empty one, which removes the password. */
async function hashOf(deps: RecordDeps, call: OfUser, password: string): Promise<string | null> {
  const account = await find(deps, call);
  if (password === '') return null;
  const given = { email: account.email, password, address: call.request.ip };
  return deps.userChanges.preparePassword(call.project, account, given);
}
