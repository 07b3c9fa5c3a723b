import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { createErasureStore, type SubjectKey } from './store.js';

/** Names of values by which somebody can be reached or recognised; they belong to one person. */
const contactFields = ['email', 'previous', 'phone', 'identifier', 'providerUid'] as const;
/** Names of values that are network addresses, which several persons may share. */
const addressFields = ['ip', 'client.ip'] as const;
/** Values that are looked through, and values that are removed, in one statement. */
const sizes = { window: 20_000, batch: 500 } as const;

/** Erases personal values of the audit log. The entries stay, with the salted digests of what they recorded. */
export function createSubjectErasure({ db, sql }: Pick<Runtime, 'db' | 'sql'>) {
  const store = createErasureStore(sql);
  return {
    /** Addresses, numbers and the like that the log knows of a user. */
    contactsOf: async (projectId: string, userId: string): Promise<string[]> =>
      (await db.all(store.valuesOf(projectId, userId, contactFields))).map(({ value }) => String(value)),
    /** Ids of users who had this e-mail address when they were deleted. */
    deletedWith: async (projectId: string, email: string): Promise<string[]> =>
      (await db.all(store.deletedWith(projectId, email))).map(({ user_id }) => String(user_id)),
    /** Ids of users who had this e-mail address at any time. */
    heldBy: async (projectId: string, email: string): Promise<string[]> =>
      (await db.all(store.heldBy(projectId, email))).map(({ user_id }) => String(user_id)),
    /** Whether there is an entry about this user. */
    knows: async (projectId: string, userId: string): Promise<boolean> =>
      (await db.one(store.anyAbout(projectId, userId))) !== undefined,
    /** Network addresses from which a user came. */
    addressesOf: async (projectId: string, userId: string): Promise<string[]> =>
      (await db.all(store.valuesOf(projectId, userId, addressFields))).map(({ value }) => String(value)),
    /** Erases the values of entries that belong to no user and name one of the contacts, such as failed logins; returns of how many entries. */
    ofContacts: async (by: AuditContext, contacts: readonly string[]): Promise<number> => {
      if (contacts.length === 0) return 0;
      let entries = 0;
      for (let after: SubjectKey = ['', '']; ; ) {
        const end = await db.one(store.windowEnd(after, sizes.window));
        const last: SubjectKey | undefined = end && [String(end.entry_id), String(end.field)];
        const found = await db.all(store.entriesWith(by.projectId ?? '', contacts, after, last));
        const ids = found.map(({ entry_id }) => String(entry_id));
        if (ids.length > 0) await db.work(by, (unit) => unit.run(store.ownerless(ids)));
        entries += ids.length;
        if (last === undefined) return entries;
        after = last;
      }
    },
    /** Erases the values of a user; returns how many there were. */
    ofUser: async (by: AuditContext, userId: string): Promise<number> => {
      for (let erased = 0; ; ) {
        const removed = await db.work(by, async (unit) => {
          const rows = await unit.all(store.someOf(by.projectId ?? '', userId, sizes.batch));
          const keys = rows.map(({ entry_id, field }): SubjectKey => [String(entry_id), String(field)]);
          return keys.length === 0 ? 0 : unit.run(store.remove(keys));
        });
        erased += removed;
        if (removed < sizes.batch) return erased;
      }
    },
  };
}

/** Erases personal values of the audit log. */
export type SubjectErasure = ReturnType<typeof createSubjectErasure>;
