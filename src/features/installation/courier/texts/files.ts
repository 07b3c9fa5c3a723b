import type { Template, Templates } from '#src/platform/templates.js';
import { type MessageName, messages } from '../messages.js';

/** Where the texts of each channel lie. */
export const folderOf = { email: 'emails', sms: 'sms' } as const;

/** The files of a message in a language, by the part of it that each is; the layout frames the HTML of every mail. */
export function pathsOf(message: MessageName, locale: string): Readonly<Record<string, string>> {
  if (messages[message].channel === 'sms') return { text: `sms/${locale}/${message}.txt` };
  const folder = `emails/${locale}/${message}`;
  return {
    subject: `${folder}/subject.txt`,
    text: `${folder}/body.txt`,
    html: `${folder}/body.html`,
    layout: 'emails/layout.html',
  };
}

/** The parts of a message that there are. */
export type Parts = Readonly<Record<string, Template | undefined>>;

/** Reads the files of a message. */
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
