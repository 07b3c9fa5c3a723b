import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import { accountRecord } from '../users/index.js';
import type { ClaimDeps, Contact } from './deps.js';

/**
 * Gives an account to the person who proved its contact: removes the other contact, the password, sessions and second factors. If anything
 * was removed, the proved contact gets a message.
 */
export function createTakeovers({ users, sessions, secrets, factors, courier }: ClaimDeps) {
  /** Removes the other contact; false if there was none. */
  const dropOther = async (unit: Unit, project: Project, account: UserRecord, contact: Contact): Promise<boolean> => {
    const { id: userId, email, phone } = account;
    const recorded = { resource: `users/${userId}`, userId };
    const other = contact === 'email' ? phone : email;
    if (other === null) return false;
    await secrets.void(unit, project, 'every', { recipient: other });
    if (contact === 'email') {
      await users.changePhone(unit, project.id, account, null);
      unit.record('accountPhoneChanged', { ...recorded, payload: { userId, phone: '', previous: other } });
    } else {
      await users.changeEmail(unit, project.id, account, null);
      unit.record('accountEmailChanged', { ...recorded, payload: { userId, email: '', previous: other } });
    }
    return true;
  };
  const dropPassword = async (unit: Unit, project: Project, account: UserRecord): Promise<boolean> => {
    // JWTs without a session (created by server keys) end only with a new `passwordUpdate`, so it is set even without a password.
    await users.update(unit, project.id, account, { passwordHash: null, passwordUpdate: unit.now });
    if (account.passwordHash === null) return false;
    unit.record('accountPasswordChanged', accountRecord(account.id));
    return true;
  };

  return async (unit: Unit, project: Project, account: UserRecord, contact: Contact): Promise<UserRecord> => {
    const { id: userId, locale } = account;
    const dropped = [
      await dropOther(unit, project, account, contact),
      await dropPassword(unit, project, account),
      (await sessions.closeAll(unit, project, userId)) > 0,
      await factors.removeAll(unit, project, account),
    ].includes(true);
    await secrets.void(unit, project, 'every', { userId });
    const current = await users.get(unit, project.id, userId);
    const proved = await users.markVerified(unit, project.id, current, contact);
    if (!dropped) return proved;
    unit.record('accountClaimed', accountRecord(userId, { contact }));
    const to = account[contact] ?? '';
    if (contact === 'email')
      courier.send(unit, project, {
        message: 'account-claimed',
        to,
        userId,
        // A stranger may have chosen the name.
        name: '',
        locale,
        variables: { at: unit.now },
      });
    else courier.send(unit, project, { message: 'phone-claimed', to, userId, name: '', locale, variables: {} });
    return proved;
  };
}
