import type { DialectName } from '#src/platform/db/dialect-words.js';
import type { FulltextIndex, WordSearch } from './condition.js';
import type { Fragment } from './fragment.js';

/** A search in a fulltext index: all words, in any order. Without a word it matches nothing. */
export function fulltextSearch(
  dialect: DialectName,
  search: { readonly method: WordSearch; readonly words: readonly string[]; readonly index: FulltextIndex },
): Fragment {
  const { method, words, index } = search;
  const isNot = method === 'notSearch';
  if (words.length === 0) return { sql: isNot ? '1 = 1' : '1 = 0', values: [] };
  const not = isNot ? 'not ' : '';
  // Words contain no quotes.
  if (dialect === 'sqlite')
    return {
      sql: `seq ${not}in (select rowid from ${index.words} where ${index.words} match ?)`,
      values: [words.map((word) => `"${word}"`).join(' ')],
    };
  return {
    sql: `${not}exists (select 1 from ${index.words} where ${index.words}.seq = ${index.documents}.seq and ${index.words}.words @@ cast(? as tsquery))`,
    values: [words.map((word) => `'${word}'`).join(' & ')],
  };
}
