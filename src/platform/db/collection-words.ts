import { documentTable, wordsTable } from './collection-tables.js';
import type { DialectName } from './query.js';

/**
 * The statements that make the table of a fulltext index. The words come split and in one case, so neither database decides what a word is:
 * the tokenizer of SQLite ends words at spaces only, as they hold no other ASCII character than letters, digits and the mark of digests.
 * It keeps no text, nor where a word stands. Postgres has no list of pending words, which every search would read.
 */
export function createWords(dialect: DialectName, number: number, index: number): string[] {
  const [documents, words] = [documentTable(number), wordsTable(number, index)];
  if (dialect === 'sqlite')
    return [
      `create virtual table ${words} using fts5(words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'")`,
      `create trigger ${words}_remove after delete on ${documents} begin delete from ${words} where rowid = old.seq; end`,
    ];
  return [
    `create table ${words} (seq bigint primary key references ${documents} (seq) on delete cascade, words tsvector not null)`,
    `create index ${words}_words on ${words} using gin (words) with (fastupdate = off)`,
  ];
}

/** The statements that drop it. */
export function dropWords(dialect: DialectName, number: number, index: number): string[] {
  const words = wordsTable(number, index);
  return [...(dialect === 'sqlite' ? [`drop trigger ${words}_remove`] : []), `drop table ${words}`];
}
