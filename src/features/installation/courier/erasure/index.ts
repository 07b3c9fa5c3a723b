import type { Project } from '#src/contract/project.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import type { Contents } from '../content.js';
import { type MessageStore, messageTable } from '../store.js';

/** Messages that are opened at a time. */
const page = 500;

/** Removes messages to a person: those of the user, and those to one of the recipients that belong to no user. Returns how many. */
export function createMessageErasure({ db }: Pick<Runtime, 'db'>, store: MessageStore, contents: Contents) {
  return async (
    by: AuditContext,
    project: Project,
    { userId, recipients }: { readonly userId: string; readonly recipients: readonly string[] },
  ): Promise<number> => {
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
