import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Courier } from '../../installation/index.js';
import type { Factors } from '../factors/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { Sessions } from '../sessions/index.js';
import { accountRecord, type Users } from '../users/index.js';

/** A kind of contact. */
export type Contact = 'email' | 'phone';

/** Features that claims depend on. */
export interface ClaimDeps {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly factors: Factors;
  readonly courier: Courier;
  /** Checks for logins that do not need a contact, such as linked identities or passkeys. */
  readonly otherWaysIn: readonly ((reader: Reader, project: Project, account: UserRecord) => Promise<boolean>)[];
}

/** Removes an unproved contact from an account and notifies the account's owner at the other contact; the account keeps the rest. */
export async function releaseContact(
  deps: ClaimDeps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  contact: Contact,
): Promise<void> {
  const { courier } = deps;
  const { id: userId, name, locale, email, phone } = account;
  await removeContact(deps, unit, project, account, contact);
  if (contact === 'email' && phone !== null)
    courier.send(unit, project, { message: 'email-removed', to: phone, userId, name, locale, variables: {} });
  if (contact === 'email' || email === null) return;
  const variables = { at: unit.now };
  courier.send(unit, project, { message: 'phone-removed', to: email, userId, name, locale, variables });
}

/** Removes a contact from an account. Codes and links already sent there stop working. */
async function removeContact(
  { users, secrets }: ClaimDeps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  contact: Contact,
): Promise<void> {
  const previous = account[contact] ?? '';
  await secrets.void(unit, project, 'every', { recipient: previous });
  if (contact === 'email') {
    await users.changeEmail(unit, project.id, account, null);
    unit.record('accountEmailChanged', accountRecord(account.id, { email: '', previous }));
  } else {
    await users.changePhone(unit, project.id, account, null);
    unit.record('accountPhoneChanged', accountRecord(account.id, { phone: '', previous }));
  }
}

/**
 * Gives an account to the person who proved its contact: removes the other contact, the password, sessions and second factors. If anything
 * was removed, the proved contact gets a message.
 */
export async function takeOver(
  deps: ClaimDeps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  contact: Contact,
): Promise<UserRecord> {
  const { users, sessions, secrets, factors, courier } = deps;
  const { id: userId, locale } = account;
  const other = contact === 'email' ? 'phone' : 'email';
  if (account[other] !== null) await removeContact(deps, unit, project, account, other);
  await dropPassword(deps, unit, project, account);
  const closed = await sessions.closeAll(unit, project, userId);
  const hadFactors = await factors.removeAll(unit, project, account);
  const isChanged = account[other] !== null || account.passwordHash !== null || closed > 0 || hadFactors;
  await secrets.void(unit, project, 'every', { userId });
  const current = await users.get(unit, project.id, userId);
  const proved = await users.markVerified(unit, project.id, current, contact);
  if (!isChanged) return proved;
  unit.record('accountClaimed', accountRecord(userId, { contact }));
  // A stranger may have chosen the name.
  const addressee = { to: account[contact] ?? '', userId, name: '', locale };
  if (contact === 'email')
    courier.send(unit, project, { message: 'account-claimed', ...addressee, variables: { at: unit.now } });
  else courier.send(unit, project, { message: 'phone-claimed', ...addressee, variables: {} });
  return proved;
}

async function dropPassword({ users }: ClaimDeps, unit: Unit, project: Project, account: UserRecord): Promise<void> {
  // JWTs without a session (created by server keys) end only with a new `passwordUpdate`, so it is set even without a password.
  await users.update(unit, project.id, account, { passwordHash: null, passwordUpdate: unit.now });
  if (account.passwordHash !== null) unit.record('accountPasswordChanged', accountRecord(account.id));
}
