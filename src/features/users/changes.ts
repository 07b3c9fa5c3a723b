import type { Account, Target } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Accounts } from '../accounts/index.js';

const contacts = {
  email: { flag: 'emailVerification', missing: 'user_email_not_found', unverified: 'accountEmailUnverified' },
  phone: { flag: 'phoneVerification', missing: 'user_phone_not_found', unverified: 'accountPhoneUnverified' },
} as const;

/** What an application's backend changes of a user, and the user does not. */
export function createChanges(accounts: Accounts) {
  const of = (account: Account) => ({ resource: `users/${account.id}`, userId: account.id });
  return {
    /** The user as it is now, whom nobody else changes until the unit ends. Throws Failure `user_not_found`. */
    held: async (unit: Unit, project: Project, id: string): Promise<Account> => {
      const account = await accounts.hold(unit, project.id, id);
      if (account === undefined) throw new Failure('user_not_found');
      return account;
    },
    changeLabels: async (
      unit: Unit,
      project: Project,
      account: Account,
      labels: readonly string[],
    ): Promise<Account> => {
      unit.record('accountLabelsChanged', { ...of(account), payload: { userId: account.id, labels: [...labels] } });
      return accounts.update(unit, project.id, account, { labels });
    },
    /** Says whether an address or number is verified; nothing where that is known. Throws Failure where there is none. */
    setVerification: async (
      unit: Unit,
      project: Project,
      account: Account,
      contact: 'email' | 'phone',
      isVerified: boolean,
    ): Promise<Account> => {
      const { flag, missing, unverified } = contacts[contact];
      const value = account[contact];
      if (account[flag] === isVerified) return account;
      if (value === null) throw new Failure(missing);
      const { id: userId } = account;
      if (!isVerified) unit.record(unverified, { ...of(account), payload: { userId } });
      else if (contact === 'email')
        unit.record('accountEmailVerified', { ...of(account), payload: { userId, email: value } });
      else unit.record('accountPhoneVerified', { ...of(account), payload: { userId, phone: value } });
      return accounts.update(unit, project.id, account, { [flag]: isVerified });
    },
    /** Replaces the targets of a user; `changed` is the one that is new, other or gone. */
    changeTargets: async (
      unit: Unit,
      project: Project,
      account: Account,
      targets: readonly Target[],
      event: 'targetCreated' | 'targetUpdated' | 'targetDeleted',
      changed: Target,
    ): Promise<Account> => {
      const { id: userId } = account;
      unit.record(event, {
        ...{ resource: `users/${userId}/targets/${changed.id}`, userId },
        payload: { userId, providerType: changed.providerType, identifier: changed.identifier },
      });
      return accounts.update(unit, project.id, account, { targets });
    },
  };
}
