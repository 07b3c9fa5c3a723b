import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Installation } from '../../installation/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import { type BackendChanges, createBackendChanges } from './by-backends.js';
import { accountRecord, isVouching } from './record.js';
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

/** The part of the sessions feature that user changes call. An interface, because sessions are built after this feature. */
interface SessionEnder {
  /** Deletes the sessions of a user, except `exceptId`. */
  closeAll(unit: Unit, project: Project, userId: string, exceptId?: string): Promise<number>;
  /** Ends the sessions of a user but keeps their rows, so that their holders get `user_blocked`. */
  endAll(unit: Unit, project: Project, userId: string): Promise<void>;
}

/** The part of the teams feature that deleting a user calls. An interface, because teams are built after this feature. */
interface MembershipEnder {
  /** Deletes all memberships and invitations of a user. */
  endAll(unit: Unit, project: Project, of: { readonly userId: string }): Promise<void>;
}

interface Deps extends Pick<Runtime, 'db' | 'random'>, Pick<Installation, 'courier' | 'limits'> {
  readonly users: Users;
  readonly sessions: SessionEnder;
  readonly memberships: MembershipEnder;
  readonly secrets: OneTimeSecrets;
}

/** Creates the service that changes users. */
export function createUserChanges(deps: Deps): UserChanges {
  return {
    ...createSignUps(deps),
    ...createBackendChanges(deps.users),
    ...bind(deps, { rename, changePrefs, changeEmail, changePhone, changePassword }),
    ...bind(deps, { preparePassword, block, unblock, remove }),
  };
}

async function rename({ users }: Deps, unit: Unit, project: Project, user: UserRecord, name: string) {
  if (user.name === name) return user;
  const changed = await users.update(unit, project.id, user, { name });
  unit.record('accountNameChanged', accountRecord(user.id, { name }));
  return changed;
}

async function changePrefs({ users }: Deps, unit: Unit, project: Project, user: UserRecord, prefs: Prefs) {
  const changed = await users.update(unit, project.id, user, { prefs });
  unit.record('accountPrefsChanged', accountRecord(user.id));
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
  if (passwordHash !== undefined) unit.record('accountPasswordChanged', accountRecord(user.id));
  if (user.email === email) {
    await voidProofs(deps, unit, project, user);
    notify(deps, unit, project, user, 'password-changed');
    return users.update(unit, project.id, user, change);
  }
  const changed = await users.changeEmail(unit, project.id, user, email, change);
  unit.record('accountEmailChanged', accountRecord(user.id, { email: email ?? '', previous: user.email ?? '' }));
  await voidSentTo(deps, unit, project, user.email);
  await deps.secrets.void(unit, project, ['recovery'], { userId: user.id });
  if (passwordHash !== undefined) await voidProofs(deps, unit, project, user);
  notify(deps, unit, project, user, 'email-changed');
  return changed;
}

/** Voids all open codes and links of a user. */
async function voidProofs({ secrets }: Deps, unit: Unit, project: Project, { id }: UserRecord): Promise<void> {
  await secrets.void(unit, project, 'every', { userId: id });
}

/** Voids every secret ever sent to an address or number, including secrets issued for other accounts or none. */
async function voidSentTo({ secrets }: Deps, unit: Unit, project: Project, recipient: string | null): Promise<void> {
  if (recipient !== null) await secrets.void(unit, project, 'every', { recipient });
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
  unit.record('accountPhoneChanged', accountRecord(user.id, { phone: phone ?? '', previous: user.phone ?? '' }));
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
  await deps.sessions.closeAll(unit, project, user.id, keepSessionId);
  await voidProofs(deps, unit, project, user);
  unit.record('accountPasswordChanged', accountRecord(user.id));
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
  await deps.sessions.endAll(unit, project, user.id);
  await voidProofs(deps, unit, project, user);
  unit.record('accountBlocked', accountRecord(user.id));
  return changed;
}

async function unblock({ users }: Deps, unit: Unit, project: Project, user: UserRecord): Promise<UserRecord> {
  const changed = await users.update(unit, project.id, user, { status: true });
  unit.record('accountUnblocked', accountRecord(user.id));
  return changed;
}

async function remove(deps: Deps, unit: Unit, project: Project, user: UserRecord): Promise<void> {
  await deps.memberships.endAll(unit, project, { userId: user.id });
  await deps.sessions.closeAll(unit, project, user.id);
  await voidProofs(deps, unit, project, user);
  await voidSentTo(deps, unit, project, user.email);
  await voidSentTo(deps, unit, project, user.phone);
  await deps.users.remove(unit, project.id, user.id);
  unit.record('accountDeleted', accountRecord(user.id, { email: user.email ?? '' }));
}
