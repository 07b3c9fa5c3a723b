import { escapeHtml, type Fault, fillIn, type Template, type Templates } from '#src/platform/templates/templates.js';
import { type MessageName, messages } from '../model/messages.js';
import { folderOf, loadParts, type Parts, templatePathsOf } from './files.js';
import { faultsOf } from './lint.js';
import { printed } from './values.js';

/** A rendered message. */
export interface Composed {
  /** The language of the texts. */
  readonly language: string;
  /** Empty for an SMS, like the HTML. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The fallback language. It has texts for every message. */
const lastResort = 'en';

/** Characters that most mail programs show beside the subject. */
const preheaderLength = 110;

/** Renders messages. */
export interface Texts {
  /** Renders a message. Throws if the built-in texts are missing. */
  compose(message: MessageName, locale: string, locals: Readonly<Record<string, string>>): Promise<Composed>;
}

/**
 * Renders messages in the best matching language: `de-AT`, then `de`, then `en`. A language counts only if it has every file of the
 * message. A faulty template of the installation does not delay a message: the built-in texts are used instead.
 */
export function createTexts(templates: Templates, onFault: (fault: Fault) => void): Texts {
  const languagesFor = async (message: MessageName, locale: string): Promise<string[]> => {
    const folders = await templates.folders(folderOf[messages[message].channel]);
    const tags = locale.toLowerCase().split('-');
    const wanted = tags.map((_, index) => tags.slice(0, tags.length - index).join('-'));
    const found = wanted.map((tag) => folders.find((folder) => folder.toLowerCase() === tag));
    return [...new Set([...found.filter((folder) => folder !== undefined), lastResort])];
  };
  const load = async (message: MessageName, language: string): Promise<Parts | undefined> => {
    const paths = templatePathsOf(message, language);
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
    compose: async (message, locale, locals) => {
      for (const language of await languagesFor(message, locale)) {
        const parts = await load(message, language);
        if (parts !== undefined) return write(parts, language, printed(message, locals, formatOf(locale, language)));
      }
      throw new Error(`there are no texts of ${message}`);
    },
  };
}

/** Locale for times: the requested region if it belongs to the language of the text. */
function formatOf(locale: string, language: string): string {
  const isOfLanguage = locale.toLowerCase().startsWith(language.toLowerCase());
  for (const tag of isOfLanguage ? [locale, language] : [language]) {
    try {
      if (Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0) return tag;
    } catch {
      // A malformed tag.
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
  const frame = Object.entries({ ...values, lang: language, subject, preheader: preheaderOf(text) }).map(
    ([name, value]) => [name, escapeHtml(value)],
  );
  const content = fill(parts.html, escapeHtml);
  const html = fillIn(parts.layout.pieces, { ...Object.fromEntries(frame), content });
  return { language, subject, text: `${text}\n`, html };
}

/** What mail programs show beside the subject: the first words after the greeting, without links. */
function preheaderOf(text: string): string {
  const [, ...paragraphs] = text.split(/\n{2,}/);
  const words = paragraphs.filter((paragraph) => !/^https?:\S+$/.test(paragraph)).join(' ');
  return words.length <= preheaderLength ? words : words.slice(0, words.lastIndexOf(' ', preheaderLength));
}
