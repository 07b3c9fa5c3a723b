import type { MessageRow } from './store.js';
import type { Composed } from './texts/texts.js';

interface Opened {
  readonly to: string;
  /** Absent where the content is wiped. */
  readonly locals: Readonly<Record<string, string>> | undefined;
  readonly composed: Composed | undefined;
}

/** A message in a list. */
export type ListedMail = ReturnType<typeof toListedMail>;
/** A message with its content. */
export type ShownMail = ReturnType<typeof toShownMail>;

/** A message as a list prints it; `sentAt` is null as long as it was neither sent nor put into the mailbox. */
export function toListedMail(row: MessageRow, { to, composed }: Opened) {
  return {
    $id: row.id,
    $createdAt: row.createdAt,
    projectId: row.projectId,
    userId: row.userId ?? '',
    channel: row.channel,
    message: row.template,
    to,
    subject: composed?.subject ?? '',
    locale: row.locale,
    state: row.state,
    attempts: row.attempt,
    error: row.error,
    dueAt: row.dueAt,
    sentAt: row.state === 'kept' ? row.createdAt : row.sentAt,
  };
}

/** A message with its texts, and what somebody who tries a flow out wants of them: the links and the code. */
export function toShownMail(row: MessageRow, opened: Opened) {
  const { locals, composed } = opened;
  const found = composed?.text.match(/https?:\/\/[^\s<>"]+/g) ?? [];
  const links = [...(locals?.link === undefined ? [] : [locals.link]), ...found];
  return {
    ...toListedMail(row, opened),
    text: composed?.text ?? '',
    html: composed?.html ?? '',
    links: [...new Set(links)],
    code: locals?.code ?? null,
  };
}
