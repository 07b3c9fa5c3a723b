import type { DialectName } from '#src/platform/db/query.js';
import { type Fragment, join } from './fragment.js';

/**
 * A search: each word stands somewhere in one of the columns, in any case of any alphabet. The databases do not agree on what lower case
 * is, so each letter is spelled out in both cases: as a GLOB for SQLite, as a regular expression for Postgres.
 */
export function wordsIn(columns: readonly string[], text: string, dialect: DialectName): Fragment {
  const words = text.normalize('NFC').split(/\s+/u).filter(Boolean);
  if (words.length === 0) return { sql: '1 = 1', values: [] };
  const operator = dialect === 'sqlite' ? 'glob' : '~';
  const within = (word: string): Fragment => {
    const value = dialect === 'sqlite' ? globOf(word) : expressionOf(word);
    const sql = columns.map((column) => `${column} ${operator} ?`).join(' or ');
    return { sql: `(${sql})`, values: columns.map(() => value) };
  };
  return join(words.map(within), ' and ');
}

/** A letter in every case that is one letter as well. */
function casesOf(letter: string): string[] {
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
