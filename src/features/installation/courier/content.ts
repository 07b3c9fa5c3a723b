import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import { type MessageRow, sealedMessages } from './store.js';

/** What a message is about, as long as it is not wiped. */
type Locals = Readonly<Record<string, string>>;

const aadOf = (column: keyof typeof sealedMessages, row: string) => ({ column: sealedMessages[column], row });

/** Seals what of a message could identify somebody or let somebody in, and opens it again. */
export function createContents({ sealing }: Pick<Runtime, 'sealing'>) {
  return {
    seal: (
      project: Project,
      id: string,
      to: string,
      locals: Locals,
    ): Pick<MessageRow, 'id' | 'recipient' | 'sealed'> => ({
      id,
      recipient: sealing.seal(project.id, project.dataKey, aadOf('recipient', id), to),
      sealed: sealing.seal(project.id, project.dataKey, aadOf('sealed', id), JSON.stringify(locals)),
    }),
    /** Whom it is for; empty where an earlier version did not keep that apart, or the row is not the one that was sealed. */
    recipientOf: (project: Project, { id, recipient }: MessageRow): string =>
      recipient === '' ? '' : (sealing.tryOpen(project.id, project.dataKey, aadOf('recipient', id), recipient) ?? ''),
    /** The values of its text; undefined where they are wiped, or the row is not the one that was sealed. */
    localsOf: (project: Project, { id, sealed, recipient }: MessageRow): Locals | undefined => {
      if (sealed === '' || recipient === '') return undefined;
      const [to, text] = [
        sealing.tryOpen(project.id, project.dataKey, aadOf('recipient', id), recipient),
        sealing.tryOpen(project.id, project.dataKey, aadOf('sealed', id), sealed),
      ];
      return to === undefined || text === undefined ? undefined : (JSON.parse(text) as Locals);
    },
  };
}

/** Sealed contents of messages. */
export type Contents = ReturnType<typeof createContents>;
