import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../projects/index.js';
import type { Contents } from './model/content.js';
import { isMessageName } from './model/messages.js';
import { type MessageRow, type MessageStore, messageTable } from './model/store.js';
import type { Composed, Texts } from './texts/texts.js';
import { type ListedMail, type ShownMail, toListedMail, toShownMail } from './view.js';

/** Maximum number of messages of the last hour that are counted. */
const looked = 1000;

/** Messages of a project that were kept or sent. */
export interface Mailbox {
  /** The newest messages of one project or of all. */
  list(reader: Reader, projectId: string | null, limit: number): Promise<ListedMail[]>;
  /** Counts failed and sent mails of the last hour. Includes the newest error. */
  lastHour(reader: Reader): Promise<{ failed: number; sent: number; lastError: string }>;
  /** A message of one project or of any, by its id, or the newest if `id` is null. Undefined if there is none. */
  find(reader: Reader, projectId: string | null, id: string | null): Promise<ShownMail | undefined>;
}

/** Messages as operators see them, with opened contents. */
export function createMailbox(
  { clock }: Pick<Runtime, 'clock'>,
  store: MessageStore,
  { projects, contents, texts }: { projects: Projects; contents: Contents; texts: Texts },
): Mailbox {
  const open = async (row: MessageRow) => {
    const project = await projects.current(row.projectId);
    const locals = contents.localsOf(project, row);
    const composed: Composed | undefined =
      locals === undefined || !isMessageName(row.template)
        ? undefined
        : await texts.compose(row.template, row.locale, locals);
    return { to: contents.recipientOf(project, row), locals, composed };
  };
  return {
    list: async (reader, projectId, limit) => {
      const rows = (await reader.all(store.list({ projectId }, limit))).map((row) => messageTable.decode(row));
      const listed: ListedMail[] = [];
      for (const row of rows) listed.push(toListedMail(row, await open(row)));
      return listed;
    },
    lastHour: async (reader) => {
      const rows = await reader.all(store.mailsSince(instantOf(clock.now() - 3_600_000), looked));
      const failed = rows.filter(({ state }) => state === 'failed');
      return { failed: failed.length, sent: rows.length - failed.length, lastError: String(failed[0]?.error ?? '') };
    },
    find: async (reader, projectId, id) => {
      const found = await reader.one(id === null ? store.list({ projectId }, 1) : store.find(id));
      const row = found && messageTable.decode(found);
      if (row === undefined || (projectId !== null && row.projectId !== projectId)) return undefined;
      return toShownMail(row, await open(row));
    },
  };
}
