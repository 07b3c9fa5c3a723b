import type { Template, Templates } from '#src/platform/templates/templates.js';
import { type MessageName, messages } from '../model/messages.js';

/** Template folders of each channel. */
export const folderOf = { email: 'emails', sms: 'sms' } as const;

/** Paths of a message's templates in a language, by part. All mails share the HTML layout. */
export function templatePathsOf(message: MessageName, locale: string): Readonly<Record<string, string>> {
  if (messages[message].channel === 'sms') return { text: `sms/${locale}/${message}.txt` };
  const folder = `emails/${locale}/${message}`;
  return {
    subject: `${folder}/subject.txt`,
    text: `${folder}/body.txt`,
    html: `${folder}/body.html`,
    layout: 'emails/layout.html',
  };
}

/** Templates of a message by part; undefined if a file is missing. */
export type Parts = Readonly<Record<string, Template | undefined>>;

/** Reads the templates of a message. */
export async function loadParts(
  templates: Templates,
  paths: Readonly<Record<string, string>>,
  options: { readonly shippedOnly?: boolean } = {},
): Promise<Parts> {
  const entries = Object.entries(paths).map(
    async ([part, path]) => [part, await templates.find(path, options)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}
