import type { Project } from '#src/contract/project.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import type { Contents } from './model/content.js';
import { type MessageStore, messageTable } from './model/store.js';

/** Messages read per query. */
const page = 500;

/** Deletes messages to a person: those of the user, and those without a user to one of the recipients. Returns their number. */
export type EraseMessages = (
  by: AuditContext,
  project: Project,
  person: { readonly userId: string; readonly recipients: readonly string[] },
) => Promise<number>;

/** Creates the function that deletes messages to a person. */
export function createMessageErasure(
  { db }: Pick<Runtime, 'db'>,
  store: MessageStore,
  contents: Contents,
): EraseMessages {
  return async (by, project, { userId, recipients }) => {
    let removed = await db.work(by, (unit) => unit.run(store.removeOfUser(project.id, userId)));
    for (let after = ''; recipients.length > 0; ) {
      const rows = (await db.all(store.ownerless(project.id, after, page))).map((row) => messageTable.decode(row));
      const ids = rows.filter((row) => recipients.includes(contents.recipientOf(project, row))).map(({ id }) => id);
      if (ids.length > 0) removed += await db.work(by, (unit) => unit.run(store.remove(ids)));
      if (rows.length < page) break;
      after = rows.at(-1)?.id ?? after;
    }
    return removed;
  };
}
