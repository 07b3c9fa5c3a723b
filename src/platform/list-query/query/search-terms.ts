import type { Sql } from '#src/platform/db/query.js';
import type { Fragment } from './fragment.js';
import { anyOf, valueList } from './value-list.js';

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
  const operator = sql.dialect === 'sqlite' ? 'glob' : '~';
  const patterns = words.map(sql.dialect === 'sqlite' ? globOf : expressionOf);
  if (patterns.length === 1) {
    const within = columns.map((column) => `${column} ${operator} ?`).join(' or ');
    return { sql: `(${within})`, values: columns.map(() => patterns[0] ?? '') };
  }
  const list = valueList(sql, 'text', patterns);
  // A null column contains no term.
  const within = columns
    .map((column) => `coalesce(${column} ${operator} given.value, ${no[sql.dialect]})`)
    .join(' or ');
  return { sql: `not ${anyOf(sql.dialect, list, `not (${within})`)}`, values: list.values };
}

const no = { sqlite: '0', postgres: 'false' } as const;

/** A letter in all cases that are a single letter. */
export function casesOf(letter: string): string[] {
  return [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])].filter((one) => [...one].length === 1);
}

function globOf(word: string): string {
  const place = (letter: string) => {
    const cases = casesOf(letter);
    return cases.length > 1 || /[*?[]/.test(letter) ? `[${cases.join('')}]` : letter;
  };
  return `*${[...word].map(place).join('')}*`;
}

function expressionOf(word: string): string {
  const place = (letter: string) => {
    const cases = casesOf(letter);
    return cases.length > 1 ? `[${cases.join('')}]` : letter.replace(/[^\p{L}\p{M}\p{N}]/u, '\\$&');
  };
  return [...word].map(place).join('');
}
