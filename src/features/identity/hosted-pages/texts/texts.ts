import { de } from './de.js';
import { en, type PageTexts } from './en.js';
import { es } from './es.js';

const languages: Readonly<Record<string, PageTexts>> = { en, de, es };

/** The texts for a requested language; English if the language is not available. */
export function textsFor(locale: string | null): { readonly language: string; readonly texts: PageTexts } {
  const asked = locale?.toLowerCase().split('-')[0] ?? '';
  const language = Object.hasOwn(languages, asked) ? asked : 'en';
  return { language, texts: languages[language] ?? en };
}
