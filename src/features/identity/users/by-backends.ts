import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord, UserTarget } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import { accountRecord } from './record.js';
import type { Users } from './service.js';

const contacts = {
  email: { flag: 'emailVerification', missing: 'user_email_not_found', unverified: 'accountEmailUnverified' },
  phone: { flag: 'phoneVerification', missing: 'user_phone_not_found', unverified: 'accountPhoneUnverified' },
} as const;

/** Changes that only backends make (server keys and operators), not users themselves. */
export interface BackendChanges {
  /** Reads the user and locks it until the unit ends. Throws Failure `user_not_found`. */
  lockById(unit: Unit, project: Project, id: string): Promise<UserRecord>;
  changeLabels(unit: Unit, project: Project, user: UserRecord, labels: readonly string[]): Promise<UserRecord>;
  /**
   * Marks an address or number as verified or unverified. Throws Failure `user_email_not_found` or `user_phone_not_found` if there is none.
   */
  setVerification(
    unit: Unit,
    project: Project,
    user: UserRecord,
    contact: 'email' | 'phone',
    isVerified: boolean,
  ): Promise<UserRecord>;
  /** Replaces the targets of a user; `changed` is the target that was added, changed or removed. */
  changeTargets(
    unit: Unit,
    project: Project,
    user: UserRecord,
    targets: readonly UserTarget[],
    event: 'targetCreated' | 'targetUpdated' | 'targetDeleted',
    changed: UserTarget,
  ): Promise<UserRecord>;
}

/** Creates the backend-only changes of users. */
export function createBackendChanges(users: Users): BackendChanges {
  return {
    lockById: async (unit, project, id) => {
      const user = await users.lockById(unit, project.id, id);
      if (user === undefined) throw new Failure('user_not_found');
      return user;
    },
    changeLabels: async (unit, project, user, labels) => {
      unit.record('accountLabelsChanged', accountRecord(user.id, { labels: [...labels] }));
      return users.update(unit, project.id, user, { labels });
    },
    setVerification: async (unit, project, user, contact, isVerified) => {
      const { flag, missing, unverified } = contacts[contact];
      if (user[flag] === isVerified) return user;
      if (user[contact] === null) throw new Failure(missing);
      if (isVerified) return users.markVerified(unit, project.id, user, contact);
      unit.record(unverified, accountRecord(user.id));
      return users.update(unit, project.id, user, { [flag]: false });
    },
    changeTargets: async (unit, project, user, targets, event, changed) => {
      const { id: userId } = user;
      const { id, providerType, identifier } = changed;
      const payload = { userId, providerType, identifier };
      unit.record(event, { resource: `users/${userId}/targets/${id}`, userId, payload });
      return users.update(unit, project.id, user, { targets });
    },
  };
}
