import { documentTable, readersTable, wordsTable } from './collection-tables.js';
import type { DialectName } from './dialect-words.js';
import { type Query, type Sql, statement } from './query.js';

/** Selects the size of a database as `bytes`, without the log of SQLite. */
export const databaseBytes: Readonly<Record<DialectName, Query>> = {
  sqlite: statement('select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()'),
  postgres: statement('select cast(pg_database_size(current_database()) as text) as bytes'),
};

/** Selects the size of the tables of a collection as `bytes`. */
export function bytesOfCollection(sql: Sql, number: number, fulltext: readonly number[]): Query {
  const words = fulltext.map((index) => wordsTable(number, index));
  const own = [documentTable(number), readersTable(number)];
  if (sql.dialect === 'postgres') {
    const tables = [...own, ...words];
    const sizes = tables.map(() => 'pg_total_relation_size(cast(? as regclass))');
    return sql.text(`select ${sizes.join(' + ')} as bytes`, tables);
  }
  // A virtual table stores its rows in further tables.
  const tables = [
    ...own,
    ...words.flatMap((name) => ['data', 'idx', 'docsize', 'config'].map((part) => `${name}_${part}`)),
  ];
  // The names come first, because `dbstat` only reads tables that are given by name.
  return sql.text(
    `select sum(pgsize) as bytes from sqlite_master cross join dbstat on dbstat.name = sqlite_master.name
      where aggregate = 1 and type in ('table', 'index') and tbl_name in (${tables.map(() => '?').join(', ')})`,
    tables,
  );
}
