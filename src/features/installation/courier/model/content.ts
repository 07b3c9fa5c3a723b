import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import { type MessageRow, sealedMessages } from './store.js';

/** Variables of a message, until they are wiped. */
type Locals = Readonly<Record<string, string>>;

const aadOf = (column: keyof typeof sealedMessages, row: string) => ({ column: sealedMessages[column], row });

/** Sealed contents of messages. */
export interface Contents {
  seal(project: Project, id: string, to: string, locals: Locals): Pick<MessageRow, 'id' | 'recipient' | 'sealed'>;
  /** The recipient. Empty if an earlier version did not store it separately, or if the value was sealed for another row. */
  recipientOf(project: Project, row: MessageRow): string;
  /** The variables of the text. Undefined if they are wiped, or if the value was sealed for another row. */
  localsOf(project: Project, row: MessageRow): Locals | undefined;
}

/** Seals and opens the recipient and variables of a message, which contain personal data and secrets. */
export function createContents({ sealing }: Pick<Runtime, 'sealing'>): Contents {
  const open = ({ id, dataKey }: Project, column: keyof typeof sealedMessages, row: MessageRow) =>
    row[column] === '' ? undefined : sealing.tryOpen(id, dataKey, aadOf(column, row.id), row[column]);
  return {
    seal: (project, id, to, locals) => ({
      id,
      recipient: sealing.seal(project.id, project.dataKey, aadOf('recipient', id), to),
      sealed: sealing.seal(project.id, project.dataKey, aadOf('sealed', id), JSON.stringify(locals)),
    }),
    recipientOf: (project, row) => open(project, 'recipient', row) ?? '',
    localsOf: (project, row) => {
      const text = open(project, 'recipient', row) === undefined ? undefined : open(project, 'sealed', row);
      return text === undefined ? undefined : (JSON.parse(text) as Locals);
    },
  };
}
