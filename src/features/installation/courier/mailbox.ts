import type { Project } from '#src/contract/project.js';
import { instantOf } from '#src/platform/clock.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../projects/index.js';
import type { Contents } from './content.js';
import { isMessageName } from './messages.js';
import { type MessageRow, type MessageStore, messageTable } from './store.js';
import type { Composed, Texts } from './texts/texts.js';
import { type ListedMail, type ShownMail, toListedMail, toShownMail } from './view.js';

/** The newest messages of an hour that are looked at. */
const looked = 1000;

/** Messages as the operator reads them. */
export function createMailbox(
  { clock }: Pick<Runtime, 'clock'>,
  store: MessageStore,
  { projects, contents, texts }: { projects: Projects; contents: Contents; texts: Texts },
) {
  const open = async (project: Project, row: MessageRow) => {
    const locals = contents.localsOf(project, row);
    const composed: Composed | undefined =
      locals === undefined || !isMessageName(row.template)
        ? undefined
        : await texts.compose(row.template, row.locale, locals);
    return { to: contents.recipientOf(project, row), locals, composed };
  };
  return {
    /** The newest messages, of one project or of all. */
    list: async (reader: Reader, projectId: string | null, limit: number): Promise<ListedMail[]> => {
      const rows = (await reader.all(store.list({ projectId }, limit))).map((row) => messageTable.decode(row));
      const cached = new Map<string, Project>();
      const listed: ListedMail[] = [];
      for (const row of rows) {
        const project = cached.get(row.projectId) ?? (await projects.get(reader, row.projectId));
        cached.set(project.id, project);
        listed.push(toListedMail(row, await open(project, row)));
      }
      return listed;
    },
    /** Of the mails of the last hour: how many have failed for good and how many were sent, and the newest error. */
    lastHour: async (reader: Reader) => {
      const rows = await reader.all(store.mailsSince(instantOf(clock.now() - 3_600_000), looked));
      const failed = rows.filter(({ state }) => state === 'failed');
      return { failed: failed.length, sent: rows.length - failed.length, lastError: String(failed[0]?.error ?? '') };
    },
    /** A message of one project or of any: by its id, or the newest; undefined where there is none. */
    find: async (reader: Reader, projectId: string | null, id: string | null): Promise<ShownMail | undefined> => {
      const found = await reader.one(id === null ? store.list({ projectId }, 1) : store.find(id));
      const row = found && messageTable.decode(found);
      if (row === undefined || (projectId !== null && row.projectId !== projectId)) return undefined;
      return toShownMail(row, await open(await projects.get(reader, row.projectId), row));
    },
  };
}
