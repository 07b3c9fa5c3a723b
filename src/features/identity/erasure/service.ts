import { Failure } from '#src/contract/errors.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import type { PersonErasure } from '../../events/index.js';

/**
 * Erases users of deleted projects. Accounts, messages and events went with the project, so the audit log is what is left, and what users are
 * known by.
 */
export function createErasureOfDeleted({ db }: Pick<Runtime, 'db'>, subjects: PersonErasure['subjects']) {
  return {
    /**
     * The id of the user whom the log of a project knows by this id or address. Throws Failure `user_not_found`, and `general_argument_invalid`
     * where several had the address.
     */
    find: async (projectId: string, idOrEmail: string): Promise<string> => {
      if (await subjects.knows(projectId, idOrEmail)) return idOrEmail;
      const [id, ...others] = await subjects.heldBy(projectId, idOrEmail.toLowerCase());
      if (id === undefined) throw new Failure('user_not_found');
      if (others.length === 0) return id;
      const message = `Several users had this address. Name one by its id: ${[id, ...others].join(', ')}.`;
      throw new Failure('general_argument_invalid', { message });
    },
    /** Erases the personal values of a user; returns how many there were. Those that the user is found by go last. */
    run: async (by: AuditContext, projectId: string, userId: string): Promise<number> => {
      const ofContacts = await subjects.ofContacts(by, await subjects.contactsOf(projectId, userId));
      await db.work(by, async (unit) => {
        unit.record('accountErased', { resource: `users/${userId}`, payload: { userId } });
      });
      return ofContacts + (await subjects.ofUser(by, userId));
    },
  };
}
