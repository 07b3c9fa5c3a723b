import { escapeHtml, type Fault, fillIn, type Template, type Templates } from '#src/platform/templates.js';
import { type MessageName, messages } from '../messages.js';
import { folderOf, loadParts, type Parts, pathsOf } from './files.js';
import { faultsOf } from './lint.js';
import { printed } from './values.js';

/** A message as it is read. */
export interface Composed {
  /** The language of its texts. */
  readonly language: string;
  /** Empty for an SMS, and so is the HTML. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The language that everything is written in. */
const lastResort = 'en';

/**
 * Writes messages in the language that is nearest to the one asked for: `de-AT`, then `de`, then `en`; a language counts only where it has
 * every file of the message. A faulty text of the installation does not hold a message up: it goes with the texts that svc brings.
 */
export function createTexts(templates: Templates, onFault: (fault: Fault) => void) {
  const languagesFor = async (message: MessageName, locale: string): Promise<string[]> => {
    const folders = await templates.folders(folderOf[messages[message].channel]);
    const tags = locale.toLowerCase().split('-');
    const wanted = tags.map((_, index) => tags.slice(0, tags.length - index).join('-'));
    const found = wanted.map((tag) => folders.find((folder) => folder.toLowerCase() === tag));
    return [...new Set([...found.filter((folder) => folder !== undefined), lastResort])];
  };
  const load = async (message: MessageName, language: string): Promise<Parts | undefined> => {
    const paths = pathsOf(message, language);
    for (const shippedOnly of [false, true]) {
      const parts = await loadParts(templates, paths, { shippedOnly });
      if (Object.values(parts).some((part) => part === undefined)) return undefined;
      const faults = faultsOf(message, parts);
      if (faults.length === 0) return parts;
      for (const fault of faults) onFault(fault);
    }
    return undefined;
  };
  return {
    /** Writes a message. Throws where svc itself lacks its texts. */
    compose: async (
      message: MessageName,
      locale: string,
      locals: Readonly<Record<string, string>>,
    ): Promise<Composed> => {
      for (const language of await languagesFor(message, locale)) {
        const parts = await load(message, language);
        if (parts !== undefined) return write(parts, language, printed(message, locals, formatOf(locale, language)));
      }
      throw new Error(`there are no texts of ${message}`);
    },
  };
}

/** Writes messages. */
export type Texts = ReturnType<typeof createTexts>;

/** Times are printed as the place that was asked for does, where that is one of the language. */
function formatOf(locale: string, language: string): string {
  const isOfLanguage = locale.toLowerCase().startsWith(language.toLowerCase());
  for (const tag of isOfLanguage ? [locale, language] : [language]) {
    try {
      if (Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0) return tag;
    } catch {
      // It looks like a tag, but is none.
    }
  }
  return lastResort;
}

function write(parts: Parts, language: string, values: Readonly<Record<string, string>>): Composed {
  const fill = (part: Template | undefined, encode?: typeof escapeHtml) => fillIn(part?.pieces ?? [], values, encode);
  const subject = fill(parts.subject).replace(/\s+/g, ' ').trim();
  const text = fill(parts.text)
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  if (parts.layout === undefined) return { language, subject, text, html: '' };
  const frame = Object.entries({ ...values, lang: language, subject }).map(([name, value]) => [
    name,
    escapeHtml(value),
  ]);
  const content = fill(parts.html, escapeHtml);
  const html = fillIn(parts.layout.pieces, { ...Object.fromEntries(frame), content });
  return { language, subject, text: `${text}\n`, html };
}
