import { toArrays, unnested } from './arrays.js';
import { attributeColumn } from './collection-ddl.js';
import { documentTable, wordsTable } from './collection-tables.js';
import type { Query, Sql } from './query.js';

/** The words of an attribute of a document, separated by spaces. */
export interface WordsOfRow {
  readonly sequence: string;
  readonly words: string;
}

/** Documents per statement when indexing words, and their approximate bytes of text. */
const batch = { documents: 1000, bytes: 1_000_000 } as const;

/** SQL for the words of documents. */
export type WordStore = ReturnType<typeof createWordStore>;

/** Creates the SQL for the words of documents. */
export function createWordStore(sql: Sql) {
  const { dialect } = sql;
  const columns = [
    { name: 'seq', type: 'bigint' },
    { name: 'words', type: 'text' },
  ] as const;
  return {
    /** Replaces the words of documents. */
    put: (number: number, index: number, rows: readonly WordsOfRow[]): Query => {
      const table = wordsTable(number, index);
      if (dialect === 'sqlite')
        return sql.text(`replace into ${table} (rowid, words) select value ->> 0, value ->> 1 from json_each(?)`, [
          JSON.stringify(rows.map(({ sequence, words }) => [Number(sequence), words])),
        ]);
      const given = unnested(columns, () => '?');
      const values = toArrays(
        columns,
        rows.map(({ sequence, words }) => [sequence, words]),
      );
      return sql.text(
        `insert into ${table} (seq, words) select seq, cast(words as tsvector) from ${given} on conflict (seq) do update set words = excluded.words`,
        values,
      );
    },
    /** The last document of the next batch after a sequence, as `last`; null if none is left. */
    batchEnd: (number: number, attribute: number, after: number): Query => {
      const next = `select seq, coalesce(octet_length(${attributeColumn(attribute)}), 0) as bytes from ${documentTable(number)} where seq > ? order by seq limit ${batch.documents}`;
      const sized = `select seq, sum(bytes) over (order by seq) - bytes as ahead from (${next}) as next`;
      return sql.text(`select max(seq) as last from (${sized}) as sized where ahead < ${batch.bytes}`, [after]);
    },
    /** The values of an attribute after one sequence and up to another. Locks the documents, so that no change of them is lost. */
    texts: (number: number, attribute: number, after: number, to: number): Query =>
      sql.text(
        `select seq, ${attributeColumn(attribute)} as text from ${documentTable(number)} where seq > ? and seq <= ?${dialect === 'postgres' ? ' order by seq for no key update' : ''}`,
        [after, to],
      ),
  };
}
