import type { MessageRow } from './model/store.js';
import type { Composed } from './texts/texts.js';

interface Opened {
  readonly to: string;
  /** Undefined if the content is wiped. */
  readonly locals: Readonly<Record<string, string>> | undefined;
  readonly composed: Composed | undefined;
}

/** A message in a list. */
export type ListedMail = ReturnType<typeof toListedMail>;
/** A message with its content. */
export type ShownMail = ReturnType<typeof toShownMail>;

/** Converts a message for a list. `sentAt` is null until the message is sent or kept in the mailbox. */
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

/** Converts a message with its texts. Extracts the links and the code for developers who test a flow. */
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
