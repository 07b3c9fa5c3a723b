import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Courier, Limits } from '../../../installation/index.js';
import type { OneTimeSecrets } from '../../one-time-secrets/index.js';
import type { Users } from '../service.js';
import { type BackendChanges, createBackendChanges } from './by-backends.js';
import { createRevocations, type MembershipEnder, type SessionEnder } from './revocations.js';
import { createSignUps, type SignUps } from './sign-up.js';

/**
 * Sign-ups and changes of users, by the user, an operator or a server key. Each change records its event, ends the sessions, codes and links
 * that it has to end, and tells the user by mail where that is due.
 */
export interface UserChanges extends SignUps, BackendChanges {
  /** Gives a user another name; the name that the user has already is no change. */
  rename(unit: Unit, project: Project, user: UserRecord, name: string): Promise<UserRecord>;
  changePrefs(unit: Unit, project: Project, user: UserRecord, prefs: UserRecord['prefs']): Promise<UserRecord>;
  /**
   * Gives a user another address, or none, and a first password where `passwordHash` is given. The address that the user has already stays
   * as it is, verified or not, with the codes and links that were sent there.
   */
  changeEmail(
    unit: Unit,
    project: Project,
    user: UserRecord,
    email: string | null,
    passwordHash?: string,
  ): Promise<UserRecord>;
  /** Gives a user another phone number, unverified, or none; the one that the user has already stays as it is. */
  changePhone(unit: Unit, project: Project, user: UserRecord, phone: string | null): Promise<UserRecord>;
  /** Sets a password, or takes it away, and ends every other session of the user. */
  changePassword(
    unit: Unit,
    project: Project,
    user: UserRecord,
    passwordHash: string | null,
    keepSessionId?: string,
  ): Promise<UserRecord>;
  /** Throws Failure `password_policy_violation`; otherwise the stored form of a new password of this user. Not inside a unit of work. */
  preparePassword(
    project: Project,
    user: UserRecord,
    given: { readonly email: string | null; readonly password: string; readonly address: string | null },
  ): Promise<string>;
  /** Blocks a user and ends every session; their holders are told `user_blocked` while the block lasts. */
  block(unit: Unit, project: Project, user: UserRecord): Promise<UserRecord>;
  unblock(unit: Unit, project: Project, user: UserRecord): Promise<UserRecord>;
  /** Deletes a user with its sessions, memberships and invitations. The unit holds the user. */
  remove(unit: Unit, project: Project, user: UserRecord): Promise<void>;
}

interface Deps {
  readonly users: Users;
  readonly sessions: SessionEnder;
  readonly memberships: MembershipEnder;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly limits: Limits;
}

/** Creates the changes of users. */
export function createUserChanges(runtime: Pick<Runtime, 'db' | 'random'>, deps: Deps): UserChanges {
  const { users, courier } = deps;
  const revocations = createRevocations(deps.sessions, deps.memberships, deps.secrets);
  const recorded = <T extends object>({ id: userId }: UserRecord, payload?: T) => ({
    resource: `users/${userId}`,
    userId,
    payload: { userId, ...(payload as T) },
  });
  /** Tells a user at the address from before the change. */
  const notify = (
    unit: Unit,
    project: Project,
    { id: userId, email, name, locale }: UserRecord,
    message: 'email-changed' | 'phone-changed' | 'password-changed',
  ): void => {
    if (email === null) return;
    courier.send(unit, project, { message, to: email, userId, name, locale, variables: { at: unit.now } });
  };

  return {
    ...createSignUps(runtime, deps),
    ...createBackendChanges(users),
    rename: async (unit, project, user, name) => {
      if (user.name === name) return user;
      const changed = await users.update(unit, project.id, user, { name });
      unit.record('accountNameChanged', recorded(user, { name }));
      return changed;
    },
    changePrefs: async (unit, project, user, prefs) => {
      const changed = await users.update(unit, project.id, user, { prefs });
      unit.record('accountPrefsChanged', recorded(user));
      return changed;
    },
    changeEmail: async (unit, project, user, email, passwordHash) => {
      const change = passwordHash === undefined ? {} : { passwordHash, passwordUpdate: unit.now };
      if (user.email === email && passwordHash === undefined) return user;
      if (passwordHash !== undefined) unit.record('accountPasswordChanged', recorded(user));
      if (user.email === email) {
        await revocations.proofs(unit, project, user);
        notify(unit, project, user, 'password-changed');
        return users.update(unit, project.id, user, change);
      }
      const changed = await users.changeEmail(unit, project.id, user, email, change);
      unit.record('accountEmailChanged', recorded(user, { email: email ?? '', previous: user.email ?? '' }));
      await revocations.afterEmailChange(unit, project, user);
      if (passwordHash !== undefined) await revocations.proofs(unit, project, user);
      notify(unit, project, user, 'email-changed');
      return changed;
    },
    changePhone: async (unit, project, user, phone) => {
      if (user.phone === phone) return user;
      const changed = await users.changePhone(unit, project.id, user, phone);
      unit.record('accountPhoneChanged', recorded(user, { phone: phone ?? '', previous: user.phone ?? '' }));
      await revocations.afterPhoneChange(unit, project, user);
      notify(unit, project, user, 'phone-changed');
      return changed;
    },
    changePassword: async (unit, project, user, passwordHash, keepSessionId) => {
      const changed = await users.update(unit, project.id, user, { passwordHash, passwordUpdate: unit.now });
      await revocations.afterPasswordChange(unit, project, user, keepSessionId);
      unit.record('accountPasswordChanged', recorded(user));
      notify(unit, project, user, 'password-changed');
      return changed;
    },
    preparePassword: async (project, user, { email, password, address }) => {
      await users.checkPassword(password, { email, name: user.name, projectName: project.name });
      return users.hashPassword(project, user, password, address);
    },
    block: async (unit, project, user) => {
      const changed = await users.update(unit, project.id, user, { status: false });
      await revocations.afterBlock(unit, project, user);
      unit.record('accountBlocked', recorded(user));
      return changed;
    },
    unblock: async (unit, project, user) => {
      const changed = await users.update(unit, project.id, user, { status: true });
      unit.record('accountUnblocked', recorded(user));
      return changed;
    },
    remove: async (unit, project, user) => {
      await revocations.beforeRemoval(unit, project, user);
      await users.remove(unit, project.id, user.id);
      unit.record('accountDeleted', recorded(user, { email: user.email ?? '' }));
    },
  };
}
