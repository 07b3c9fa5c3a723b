import { casesOf, searchTermsOf } from './search-terms.js';

/** Length of a gram, and most grams of a term that a search looks up. More of them seldom exclude further rows. */
const length = 3;
const most = 12;

/** The spellings of three characters of a term, as the index has them: ASCII letters in lower case, others in each case. */
export type Gram = readonly string[];

/** The grams of a search; none if every term is too short. Rows that have them all need not match: they may stand apart. */
export function gramsOf(text: string): Gram[] {
  return searchTermsOf(text).flatMap((term) => {
    const letters = Array.from(term, spellingsOf);
    const count = Math.max(0, letters.length - length + 1);
    const step = Math.max(1, Math.ceil(count / most));
    const starts = Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
    return starts.map((start) => combined(letters.slice(start, start + length)));
  });
}

function spellingsOf(letter: string): string[] {
  return [...new Set(casesOf(letter).map(lowerAscii))];
}

const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

function combined(letters: readonly (readonly string[])[]): Gram {
  return letters.reduce<string[]>((texts, all) => texts.flatMap((text) => all.map((letter) => text + letter)), ['']);
}

/** The query of a full-text table of SQLite that finds the grams. */
export function matchOf(grams: readonly Gram[]): string {
  const quoted = (gram: string) => `"${gram.replaceAll('"', '""')}"`;
  return grams.map((gram) => `(${gram.map(quoted).join(' OR ')})`).join(' AND ');
}

/** A table with an index of grams, made by migration 0051. */
export interface SearchIndex {
  readonly table: 'users' | 'teams' | 'files';
  /** The column of the project or the bucket, and its value. */
  readonly scope: readonly [column: string, value: string];
  readonly texts: readonly string[];
}

/** The names of a full-text table of SQLite and of the table of its row numbers. */
export const searchTables = (table: SearchIndex['table']) => ({
  search: `${table}_search`,
  numbers: `${table}_numbers`,
});

/** The grams of a row on Postgres, written as in the index. */
export function rowGrams({ scope: [column], texts }: SearchIndex): string {
  return `search_grams(${[column, ...texts.map((text) => `coalesce(${text}, '')`)].join(', ')})`;
}
