import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import { by, implement } from '#src/contract/operation.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { ActivityLog } from '../activity/index.js';
import type { Factors } from '../factors/index.js';
import type { Lists } from '../lists/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { SecondFactorService } from '../second-factor/index.js';
import type { Sessions } from '../sessions/index.js';
import type { Tokens } from '../tokens/index.js';
import type { Users } from '../users/index.js';
import { createAccess } from './access/index.js';
import { managementApi } from './api.js';
import { createManagedFactors } from './factors/index.js';
import { createImports } from './imports/index.js';
import { type OfUser, printing } from './keys.js';
import { createTargets } from './targets/index.js';

interface Doors {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly users: Users;
  readonly lists: Lists;
  readonly tokens: Tokens;
  readonly activity: ActivityLog;
  readonly factors: Factors;
  readonly secondFactor: SecondFactorService;
}

/** What server keys do with the users of a project. */
export function createUserManagement(platform: Pick<Platform, 'db' | 'sql' | 'random'>, doors: Doors) {
  const { accounts, users } = doors;
  return {
    operations: [
      // Before those that name a user, as some of them have a word in the place of an id.
      ...createAccess(platform, doors),
      ...createImports(users, accounts),
      ...createTargets(platform, doors),
      ...createManagedFactors(platform, doors),
      ...createRecords(platform, users, accounts),
    ],
  };
}

function createRecords({ db }: Pick<Platform, 'db'>, users: Users, accounts: Accounts) {
  const shown = printing(accounts);
  const find = ({ project, params }: OfUser) => accounts.get(db, project.id, params.userId);
  /** Changes the user as it is now, whom nobody else changes until the unit ends. */
  const change = (call: OfUser, act: (unit: Unit, account: Account) => Promise<Account>): Promise<Account> =>
    db.work(by(call), async (unit) => act(unit, await users.held(unit, call.project, call.params.userId)));
  const changed = async (call: OfUser, act: (unit: Unit, account: Account) => Promise<Account>) =>
    shown(call.project, await change(call, act));

  return implement(managementApi, {
    list: async ({ project, query }) => {
      const { total, users: found } = await users.list(project, query);
      return { total, users: found.map((account) => shown(project, account)) };
    },
    create: async (call) => {
      const { userId: id, ...given } = call.body;
      return shown(call.project, await users.signUp(by(call), call.project, { id, ...given }));
    },
    get: async (call) => shown(call.project, await find(call)),
    delete: (call) =>
      db.work(by(call), async (unit) =>
        users.remove(unit, call.project, await users.held(unit, call.project, call.params.userId)),
      ),
    updateName: (call) => changed(call, (unit, account) => users.rename(unit, call.project, account, call.body.name)),
    updateEmail: (call) =>
      changed(call, (unit, account) => users.changeEmail(unit, call.project, account, call.body.email)),
    updatePhone: (call) =>
      changed(call, (unit, account) => users.changePhone(unit, call.project, account, call.body.number)),
    updatePassword: async (call) => {
      const { project, body } = call;
      const account = await find(call);
      const hash =
        body.password === '' ? null : await users.preparePassword(project, account, account.email, body.password);
      return changed(call, (unit, current) => users.changePassword(unit, project, current, hash));
    },
    updateLabels: (call) =>
      changed(call, (unit, account) => users.changeLabels(unit, call.project, account, call.body.labels)),
    updateStatus: (call) =>
      changed(call, async (unit, account) => {
        if (account.status === call.body.status) return account;
        return users[call.body.status ? 'unblock' : 'block'](unit, call.project, account);
      }),
    updateEmailVerification: (call) =>
      changed(call, (unit, account) =>
        users.setVerification(unit, call.project, account, 'email', call.body.emailVerification),
      ),
    updatePhoneVerification: (call) =>
      changed(call, (unit, account) =>
        users.setVerification(unit, call.project, account, 'phone', call.body.phoneVerification),
      ),
    getPrefs: async (call) => ({ ...(await find(call)).prefs }),
    updatePrefs: async (call) => {
      const account = await change(call, (unit, current) =>
        users.changePrefs(unit, call.project, current, call.body.prefs),
      );
      return { ...account.prefs };
    },
    updateImpersonator: async (call) => {
      await find(call);
      throw new Failure('general_feature_unsupported');
    },
  });
}
