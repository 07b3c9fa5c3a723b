import { documentTable, statement, wordsTable } from './collection-tables.js';
import type { DialectName } from './dialect-words.js';
import type { Query } from './query.js';
import type { TableDrop } from './table-removal.js';

/**
 * Creates the table of a fulltext index. The words of a document are deleted with the document. Words arrive already split and in one case,
 * so neither database decides word boundaries: the tokenizer of SQLite splits only at spaces, because the only ASCII characters in words
 * are letters, digits and the prefix of digests. It stores neither text nor word positions. Postgres has no list of pending words, which
 * every search would have to read.
 */
export function createWords(dialect: DialectName, number: number, index: number): Query[] {
  const [documents, words] = [documentTable(number), wordsTable(number, index)];
  if (dialect === 'sqlite')
    return [
      `create virtual table ${words} using fts5(words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'")`,
      `create trigger ${words}_remove after delete on ${documents} begin delete from ${words} where rowid = old.seq; end`,
    ].map(statement);
  return [
    `create table ${words} (seq bigint primary key references ${documents} (seq) on delete cascade, words tsvector not null)`,
    `create index ${words}_words on ${words} using gin (words) with (fastupdate = off)`,
  ].map(statement);
}

/** Drops the table of a fulltext index. */
export function dropWords(dialect: DialectName, number: number, index: number): TableDrop {
  const words = wordsTable(number, index);
  return {
    before: dialect === 'sqlite' ? [statement(`drop trigger ${words}_remove`)] : [],
    tables: [words],
    after: [],
  };
}
