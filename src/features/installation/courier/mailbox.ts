import type { Project } from '#src/contract/project.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Projects } from '../projects/index.js';
import type { Contents } from './content.js';
import { isMessageName } from './messages.js';
import { type MessageRow, type MessageStore, messageTable } from './store.js';
import type { Composed, Texts } from './texts/texts.js';
import { type ListedMail, type ShownMail, toListedMail, toShownMail } from './view.js';

/** Messages as the operator reads them. */
export function createMailbox(
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
    /** A message of one project or of any: by its id, or the newest; undefined where there is none. */
    find: async (reader: Reader, projectId: string | null, id: string | null): Promise<ShownMail | undefined> => {
      const found = await reader.one(id === null ? store.list({ projectId }, 1) : store.find(id));
      const row = found && messageTable.decode(found);
      if (row === undefined || (projectId !== null && row.projectId !== projectId)) return undefined;
      return toShownMail(row, await open(await projects.get(reader, row.projectId), row));
    },
  };
}
