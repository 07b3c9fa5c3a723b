import { dialectWords } from '#src/platform/db/dialect-words.js';
import type { Sql } from '#src/platform/db/query.js';
import { anyOf, valueList } from '#src/platform/db/value-list.js';
import type { Fragment } from './fragment.js';

/** The terms of a search text. A text in quotation marks is one term, including its spaces. */
export function searchTermsOf(text: string): string[] {
  const terms = text.normalize('NFC').matchAll(/(?<!\S)"([^"]*[^"\s][^"]*)"(?!\S)|\S+/gu);
  return Array.from(terms, ([word, quoted]) => quoted ?? word);
}

/**
 * A search: each term occurs in one of the columns, in any case of any alphabet. The databases disagree on lower case, so each letter is
 * matched in both cases: with GLOB on SQLite, with a regular expression on Postgres.
 */
export function searchTermsIn(columns: readonly string[], text: string, sql: Pick<Sql, 'dialect' | 'list'>): Fragment {
  const words = searchTermsOf(text);
  if (words.length === 0) return { sql: '1 = 1', values: [] };
  const { hasLetters, letters } = dialectWords[sql.dialect];
  const patterns = words.map((word) => letters(Array.from(word, casesOf)));
  if (patterns.length === 1) {
    const within = columns.map((column) => `${column} ${hasLetters} ?`).join(' or ');
    return { sql: `(${within})`, values: columns.map(() => patterns[0] ?? '') };
  }
  const list = valueList(sql, 'text', patterns);
  // A null column contains no term.
  const within = columns.map((column) => `coalesce(${column} ${hasLetters} given.value, false)`).join(' or ');
  return { sql: `not ${anyOf(sql.dialect, list, `not (${within})`)}`, values: list.values };
}

/** A letter in all cases that are a single letter. */
export function casesOf(letter: string): string[] {
  return [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])].filter((one) => [...one].length === 1);
}
