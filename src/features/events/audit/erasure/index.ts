import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Query } from '#src/platform/db/query.js';
import type { Runtime } from '#src/platform/index.js';
import { createErasureStore, type SubjectKey } from './store.js';

/** Fields that identify one person. */
const contactFields = ['email', 'previous', 'phone', 'identifier', 'providerUid'] as const;
/** Fields with network addresses, which several persons may share. */
const addressFields = ['ip', 'client.ip'] as const;
/** Number of values searched, and of values deleted, per statement. */
const sizes = { window: 20_000, batch: 500 } as const;

/** Erases personal values of the audit log. */
export interface SubjectErasure {
  /** Email addresses, phone numbers and similar values of a user in the log. */
  contactsOf(projectId: string, userId: string): Promise<string[]>;
  /** Ids of users who had this email address when they were deleted. */
  deletedWith(projectId: string, email: string): Promise<string[]>;
  /** Ids of users who had this email address at any time. */
  heldBy(projectId: string, email: string): Promise<string[]>;
  /** True if there is an entry about this user. */
  knows(projectId: string, userId: string): Promise<boolean>;
  /** Network addresses of a user's requests. */
  addressesOf(projectId: string, userId: string): Promise<string[]>;
  /**
   * Erases personal values of entries without a user that contain one of the contacts, such as failed logins. Returns the number of
   * entries.
   */
  ofContacts(by: AuditContext, contacts: readonly string[]): Promise<number>;
  /** Erases the personal values of a user. Returns their number. */
  ofUser(by: AuditContext, userId: string): Promise<number>;
}

/** Erases personal values of the audit log. The entries stay, with salted digests of the erased values. */
export function createSubjectErasure({ db, sql }: Pick<Runtime, 'db' | 'sql'>): SubjectErasure {
  const store = createErasureStore(sql);
  const texts = async (query: Query) => (await db.all(query)).map(({ found }) => String(found));
  return {
    contactsOf: (projectId, userId) => texts(store.valuesOf(projectId, userId, contactFields)),
    deletedWith: (projectId, email) => texts(store.deletedWith(projectId, email)),
    heldBy: (projectId, email) => texts(store.heldBy(projectId, email)),
    knows: async (projectId, userId) => (await db.one(store.anyAbout(projectId, userId))) !== undefined,
    addressesOf: (projectId, userId) => texts(store.valuesOf(projectId, userId, addressFields)),
    ofContacts: async (by, contacts) => {
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
    ofUser: async (by, userId) => {
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
