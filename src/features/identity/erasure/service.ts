import { asciiAddress } from '#src/contract/email-address.js';
import { Failure } from '#src/contract/errors.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import type { PersonErasure } from '../../events/index.js';

/**
 * Erases users of deleted projects. Accounts, messages and events were deleted with the project, so only the audit log remains, with the
 * contacts that identify users in it.
 */
export function createErasureOfDeleted({ db }: Pick<Runtime, 'db'>, subjects: PersonErasure['subjects']) {
  return {
    /**
     * The id of a user by the id or address in a project's audit log. Throws Failure `user_not_found`, and `general_argument_invalid` if
     * several users had the address.
     */
    find: async (projectId: string, idOrEmail: string): Promise<string> => {
      if (await subjects.knows(projectId, idOrEmail)) return idOrEmail;
      const [id, ...others] = await subjects.heldBy(projectId, asciiAddress(idOrEmail) ?? idOrEmail.toLowerCase());
      if (id === undefined) throw new Failure('user_not_found');
      if (others.length === 0) return id;
      const message = `Several users had this address. Name one by its id: ${[id, ...others].join(', ')}.`;
      throw new Failure('general_argument_invalid', { message });
    },
    /** Erases the personal values of a user and returns their number. Values needed to find the user go last. */
    run: async (by: AuditContext, projectId: string, userId: string): Promise<number> => {
      const ofContacts = await subjects.ofContacts(by, await subjects.contactsOf(projectId, userId));
      await db.work(by, async (unit) => {
        unit.record('accountErased', { resource: `users/${userId}`, payload: { userId } });
      });
      return ofContacts + (await subjects.ofUser(by, userId));
    },
  };
}
