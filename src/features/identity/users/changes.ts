import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Courier, Limits } from '../../installation/index.js';
import { type BackendChanges, createBackendChanges } from './by-backends.js';
import { isVouching } from './record.js';
import {
  type Revoking,
  revokeForBlock,
  revokeForEmail,
  revokeForPassword,
  revokeForRemoval,
  voidProofs,
  voidSentTo,
} from './revocations.js';
import type { Users } from './service.js';
import { createSignUps, type SignUps } from './sign-up.js';

type Prefs = UserRecord['prefs'];

/**
 * Sign-ups and changes of users, made by the user, an operator or a server key. Each change records its event, revokes the sessions, codes
 * and links it invalidates, and mails the user if required.
 */
export interface UserChanges extends SignUps, BackendChanges {
  /** Renames a user. Does nothing if the name is the same. */
  rename(unit: Unit, project: Project, user: UserRecord, name: string): Promise<UserRecord>;
  changePrefs(unit: Unit, project: Project, user: UserRecord, prefs: Prefs): Promise<UserRecord>;
  /**
   * Sets the email address (or removes it), and a first password if `passwordHash` is given. An unchanged address keeps its verification
   * and its open codes and links.
   */
  changeEmail(
    unit: Unit,
    project: Project,
    user: UserRecord,
    email: string | null,
    passwordHash?: string,
  ): Promise<UserRecord>;
  /** Sets the phone number, unverified, or removes it. Does nothing if the number is the same. */
  changePhone(unit: Unit, project: Project, user: UserRecord, phone: string | null): Promise<UserRecord>;
  /** Sets or removes the password and ends every other session of the user. */
  changePassword(
    unit: Unit,
    project: Project,
    user: UserRecord,
    passwordHash: string | null,
    keepSessionId?: string,
  ): Promise<UserRecord>;
  /**
   * Checks and hashes a new password of this user; returns the stored form. Throws Failure `password_policy_violation`. Not inside a unit
   * of work.
   */
  preparePassword(
    project: Project,
    user: UserRecord,
    given: { readonly email: string | null; readonly password: string; readonly address: string | null },
  ): Promise<string>;
  /** Blocks a user and ends all sessions. Their holders get `user_blocked` while the block lasts. */
  block(unit: Unit, project: Project, user: UserRecord): Promise<UserRecord>;
  unblock(unit: Unit, project: Project, user: UserRecord): Promise<UserRecord>;
  /** Deletes a user with its sessions, memberships and invitations. The unit must have locked the user. */
  remove(unit: Unit, project: Project, user: UserRecord): Promise<void>;
}

interface Deps extends Revoking {
  readonly users: Users;
  readonly courier: Courier;
  readonly limits: Limits;
}

/** Creates the service that changes users. */
export function createUserChanges(runtime: Pick<Runtime, 'db' | 'random'>, deps: Deps): UserChanges {
  return {
    ...createSignUps(runtime, deps),
    ...createBackendChanges(deps.users),
    ...bind(deps, { rename, changePrefs, changeEmail, changePhone, changePassword }),
    ...bind(deps, { preparePassword, block, unblock, remove }),
  };
}

async function rename({ users }: Deps, unit: Unit, project: Project, user: UserRecord, name: string) {
  if (user.name === name) return user;
  const changed = await users.update(unit, project.id, user, { name });
  unit.record('accountNameChanged', recorded(user, { name }));
  return changed;
}

function recorded<T extends object>({ id: userId }: UserRecord, payload?: T) {
  return { resource: `users/${userId}`, userId, payload: { userId, ...(payload as T) } };
}

async function changePrefs({ users }: Deps, unit: Unit, project: Project, user: UserRecord, prefs: Prefs) {
  const changed = await users.update(unit, project.id, user, { prefs });
  unit.record('accountPrefsChanged', recorded(user));
  return changed;
}

async function changeEmail(
  deps: Deps,
  unit: Unit,
  project: Project,
  user: UserRecord,
  email: string | null,
  passwordHash?: string,
): Promise<UserRecord> {
  const { users } = deps;
  const change = passwordHash === undefined ? {} : { passwordHash, passwordUpdate: unit.now };
  if (user.email === email && passwordHash === undefined) return vouchedFor(deps, unit, project, user, 'email');
  if (passwordHash !== undefined) unit.record('accountPasswordChanged', recorded(user));
  if (user.email === email) {
    await voidProofs(deps, unit, project, user);
    notify(deps, unit, project, user, 'password-changed');
    return users.update(unit, project.id, user, change);
  }
  const changed = await users.changeEmail(unit, project.id, user, email, change);
  unit.record('accountEmailChanged', recorded(user, { email: email ?? '', previous: user.email ?? '' }));
  await revokeForEmail(deps, unit, project, user);
  if (passwordHash !== undefined) await voidProofs(deps, unit, project, user);
  notify(deps, unit, project, user, 'email-changed');
  return changed;
}

/** Notes that an operator or a server key has set the address or number that the user has already. */
async function vouchedFor({ users }: Deps, unit: Unit, project: Project, user: UserRecord, contact: 'email' | 'phone') {
  const flag = `${contact}Vouched` as const;
  if (user[contact] === null || user[flag] || !isVouching(unit)) return user;
  return users.update(unit, project.id, user, { [flag]: true });
}

/** Mails the user at the address from before the change. */
function notify(
  { courier }: Deps,
  unit: Unit,
  project: Project,
  { id: userId, email, name, locale }: UserRecord,
  message: 'email-changed' | 'phone-changed' | 'password-changed',
): void {
  if (email === null) return;
  courier.send(unit, project, { message, to: email, userId, name, locale, variables: { at: unit.now } });
}

async function changePhone(deps: Deps, unit: Unit, project: Project, user: UserRecord, phone: string | null) {
  if (user.phone === phone) return vouchedFor(deps, unit, project, user, 'phone');
  const changed = await deps.users.changePhone(unit, project.id, user, phone);
  unit.record('accountPhoneChanged', recorded(user, { phone: phone ?? '', previous: user.phone ?? '' }));
  await voidSentTo(deps, unit, project, user.phone);
  notify(deps, unit, project, user, 'phone-changed');
  return changed;
}

async function changePassword(
  deps: Deps,
  unit: Unit,
  project: Project,
  user: UserRecord,
  passwordHash: string | null,
  keepSessionId?: string,
): Promise<UserRecord> {
  const changed = await deps.users.update(unit, project.id, user, { passwordHash, passwordUpdate: unit.now });
  await revokeForPassword(deps, unit, project, user, keepSessionId);
  unit.record('accountPasswordChanged', recorded(user));
  notify(deps, unit, project, user, 'password-changed');
  return changed;
}

async function preparePassword(
  { users }: Deps,
  project: Project,
  user: UserRecord,
  { email, password, address }: Parameters<UserChanges['preparePassword']>[2],
): Promise<string> {
  await users.checkPassword(password, { email, name: user.name, projectName: project.name });
  return users.hashPassword(project, user, password, address);
}

async function block(deps: Deps, unit: Unit, project: Project, user: UserRecord): Promise<UserRecord> {
  const changed = await deps.users.update(unit, project.id, user, { status: false });
  await revokeForBlock(deps, unit, project, user);
  unit.record('accountBlocked', recorded(user));
  return changed;
}

async function unblock({ users }: Deps, unit: Unit, project: Project, user: UserRecord): Promise<UserRecord> {
  const changed = await users.update(unit, project.id, user, { status: true });
  unit.record('accountUnblocked', recorded(user));
  return changed;
}

async function remove(deps: Deps, unit: Unit, project: Project, user: UserRecord): Promise<void> {
  await revokeForRemoval(deps, unit, project, user);
  await deps.users.remove(unit, project.id, user.id);
  unit.record('accountDeleted', recorded(user, { email: user.email ?? '' }));
}
