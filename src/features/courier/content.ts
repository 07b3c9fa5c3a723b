import type { Project } from '#src/contract/project.js';
import type { Platform } from '#src/platform/index.js';
import type { MessageRow } from './store.js';

/** What a message is about, as long as it is not wiped. */
type Locals = Readonly<Record<string, string>>;

const places = { recipient: 'messages|recipient', sealed: 'messages|sealed' } as const;

/** Seals what of a message could identify somebody or let somebody in, and opens it again. */
export function createContents({ sealing }: Pick<Platform, 'sealing'>) {
  return {
    seal: (project: Project, to: string, locals: Locals): Pick<MessageRow, 'recipient' | 'sealed'> => ({
      recipient: sealing.seal(project.id, project.dataKey, places.recipient, to),
      sealed: sealing.seal(project.id, project.dataKey, places.sealed, JSON.stringify(locals)),
    }),
    /** Whom it is for; empty where an earlier version did not keep that apart. */
    recipientOf: (project: Project, { recipient }: MessageRow): string =>
      recipient === '' ? '' : sealing.open(project.id, project.dataKey, places.recipient, recipient),
    /** The values of its text; undefined where they are wiped. */
    localsOf: (project: Project, { sealed, recipient }: MessageRow): Locals | undefined =>
      sealed === '' || recipient === ''
        ? undefined
        : (JSON.parse(sealing.open(project.id, project.dataKey, places.sealed, sealed)) as Locals),
  };
}

/** Sealed contents of messages. */
export type Contents = ReturnType<typeof createContents>;
