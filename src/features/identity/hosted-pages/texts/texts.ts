import { de } from './de.js';
import { en, type PageTexts } from './en.js';
import { es } from './es.js';
import { fr } from './fr.js';
import { pt } from './pt.js';

const languages: Readonly<Record<string, PageTexts>> = { en, de, es, fr, pt };

/** The texts for a requested language; English if the language is not available. */
export function textsFor(locale: string | null): { readonly language: string; readonly texts: PageTexts } {
  const asked = locale?.toLowerCase().split('-')[0] ?? '';
  const language = Object.hasOwn(languages, asked) ? asked : 'en';
  return { language, texts: languages[language] ?? en };
}
