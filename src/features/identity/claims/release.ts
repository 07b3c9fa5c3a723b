import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { ClaimDeps, Contact } from './deps.js';

/** Removes an unproved contact from an account and notifies the account's owner at the other contact; the account keeps the rest. */
export function createReleases({ users, secrets, courier }: ClaimDeps) {
  return async (unit: Unit, project: Project, account: UserRecord, contact: Contact): Promise<void> => {
    const { id: userId, name, locale, email, phone } = account;
    const recorded = { resource: `users/${userId}`, userId };
    // Codes and links already sent there stop working.
    await secrets.void(unit, project, 'every', { recipient: account[contact] ?? '' });
    if (contact === 'email') {
      await users.changeEmail(unit, project.id, account, null);
      const payload = { userId, email: '', previous: email ?? '' };
      unit.record('accountEmailChanged', { ...recorded, payload });
      if (phone !== null)
        courier.send(unit, project, { message: 'email-removed', to: phone, userId, name, locale, variables: {} });
      return;
    }
    await users.changePhone(unit, project.id, account, null);
    unit.record('accountPhoneChanged', { ...recorded, payload: { userId, phone: '', previous: phone ?? '' } });
    if (email === null) return;
    const variables = { at: unit.now };
    courier.send(unit, project, { message: 'phone-removed', to: email, userId, name, locale, variables });
  };
}
