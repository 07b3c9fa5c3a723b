import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Target, UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Users } from '../service.js';

const contacts = {
  email: { flag: 'emailVerification', missing: 'user_email_not_found', unverified: 'accountEmailUnverified' },
  phone: { flag: 'phoneVerification', missing: 'user_phone_not_found', unverified: 'accountPhoneUnverified' },
} as const;

/** Changes that the backend of an application makes, and the user does not. */
export interface BackendChanges {
  /** The user as it is now, locked until the unit ends. Throws Failure `user_not_found`. */
  lockById(unit: Unit, project: Project, id: string): Promise<UserRecord>;
  changeLabels(unit: Unit, project: Project, user: UserRecord, labels: readonly string[]): Promise<UserRecord>;
  /** Sets whether an address or number is verified. Throws Failure `user_email_not_found` or `user_phone_not_found` where there is none. */
  setVerification(
    unit: Unit,
    project: Project,
    user: UserRecord,
    contact: 'email' | 'phone',
    isVerified: boolean,
  ): Promise<UserRecord>;
  /** Replaces the targets of a user; `changed` is the one that was added, changed or removed. */
  changeTargets(
    unit: Unit,
    project: Project,
    user: UserRecord,
    targets: readonly Target[],
    event: 'targetCreated' | 'targetUpdated' | 'targetDeleted',
    changed: Target,
  ): Promise<UserRecord>;
}

/** Creates the changes that backends make. */
export function createBackendChanges(users: Users): BackendChanges {
  const of = ({ id: userId }: UserRecord) => ({ resource: `users/${userId}`, userId });
  return {
    lockById: async (unit, project, id) => {
      const user = await users.lockById(unit, project.id, id);
      if (user === undefined) throw new Failure('user_not_found');
      return user;
    },
    changeLabels: async (unit, project, user, labels) => {
      unit.record('accountLabelsChanged', { ...of(user), payload: { userId: user.id, labels: [...labels] } });
      return users.update(unit, project.id, user, { labels });
    },
    setVerification: async (unit, project, user, contact, isVerified) => {
      const { flag, missing, unverified } = contacts[contact];
      if (user[flag] === isVerified) return user;
      if (user[contact] === null) throw new Failure(missing);
      if (isVerified) return users.markVerified(unit, project.id, user, contact);
      unit.record(unverified, { ...of(user), payload: { userId: user.id } });
      return users.update(unit, project.id, user, { [flag]: false });
    },
    changeTargets: async (unit, project, user, targets, event, changed) => {
      const { id: userId } = user;
      const { id, providerType, identifier } = changed;
      unit.record(event, {
        resource: `users/${userId}/targets/${id}`,
        userId,
        payload: { userId, providerType, identifier },
      });
      return users.update(unit, project.id, user, { targets });
    },
  };
}
