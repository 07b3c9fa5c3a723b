import { documentTable, wordsTable } from './collection-tables.js';
import type { DialectName } from './dialect-words.js';
import { type Query, statement } from './query.js';
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
    ].map((text) => statement(text));
  return [
    `create table ${words} (seq bigint primary key references ${documents} (seq) on delete cascade, words tsvector not null)`,
    `create index ${words}_words on ${words} using gin (words) with (fastupdate = off)`,
  ].map((text) => statement(text));
}

/** The tables of documents and of the words of one of their attributes. */
export interface FulltextIndex {
  readonly documents: string;
  readonly words: string;
}

/** A search in a fulltext index for documents that have all words, in any order, or that do not. Without a word it matches nothing. */
export function fulltextSearch(
  dialect: DialectName,
  { documents, words: table }: FulltextIndex,
  words: readonly string[],
  isNot: boolean,
): { readonly sql: string; readonly values: readonly string[] } {
  if (words.length === 0) return { sql: isNot ? '1 = 1' : '1 = 0', values: [] };
  const not = isNot ? 'not ' : '';
  // Words contain no quotes.
  if (dialect === 'sqlite')
    return {
      sql: `seq ${not}in (select rowid from ${table} where ${table} match ?)`,
      values: [words.map((word) => `"${word}"`).join(' ')],
    };
  return {
    sql: `${not}exists (select 1 from ${table} where ${table}.seq = ${documents}.seq and ${table}.words @@ cast(? as tsquery))`,
    values: [words.map((word) => `'${word}'`).join(' & ')],
  };
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
