import { countsTable, documentTable, readersTable } from './collection-tables.js';
import { collectionTriggers, replacedTriggers, rolesOf } from './collection-triggers.js';
import { createWords, dropWords } from './collection-words.js';
import type { DialectName, Query } from './query.js';

/** How an attribute is stored. A list is JSON text. */
export type ColumnKind = ElementKind | 'list';
/** How a single value is stored. */
export type ElementKind = 'text' | 'integer' | 'double' | 'boolean';

/** The column of an attribute. */
export const attributeColumn = (number: number): string => `a_${number}`;
const indexName = (collection: number, index: number): string => `i_${collection}_${index}`;
/** What a `DatabaseError` may call an index over columns: by its name, or by the columns. */
export const indexNames = (collection: number, index: number, attributes: readonly number[]): readonly string[] => [
  indexName(collection, index),
  attributes.map((number) => `${documentTable(collection)}.${attributeColumn(number)}`).join(', '),
];

/** What a value of some kind is cast to where Postgres cannot tell. */
export const castTypes = {
  text: 'text',
  integer: 'bigint',
  double: 'double precision',
  boolean: 'boolean',
  list: 'text',
} as const satisfies Record<ColumnKind, string>;

const types: Record<DialectName, Record<ColumnKind, string>> = {
  sqlite: { text: 'text', integer: 'integer', double: 'real', boolean: 'integer', list: 'text' },
  postgres: { ...castTypes, text: 'text collate "C"', list: 'text collate "C"' },
};

/** A column of an index. */
interface IndexedColumn {
  readonly attribute: number;
  readonly descending: boolean;
}

/** The statements that make and change the tables of collections, on either database, inside a transaction. Who changes a table has locked it by `TableLocks`. */
export function createCollectionDdl(dialect: DialectName) {
  const statement = (sql: string): Query => ({ sql, values: [] });
  const text = types[dialect].text;
  const placeholder = (at: number) => (dialect === 'sqlite' ? '?' : `$${at}`);
  const sequence =
    dialect === 'sqlite' ? 'integer primary key autoincrement' : 'bigint generated always as identity primary key';
  // In both databases nulls come first ascending and last descending; Postgres has to be told.
  const order = (descending: boolean) =>
    dialect === 'sqlite' ? (descending ? ' desc' : '') : descending ? ' desc nulls last' : ' nulls first';
  /** What every list can be ordered by. */
  const timeIndex = (number: number, time: 'created' | 'updated'): Query =>
    statement(
      // The tie-break of every list; SQLite has it in each index anyway.
      `create index if not exists ${documentTable(number)}_${time} on ${documentTable(number)} (${time}_at${dialect === 'postgres' ? ', seq' : ''})`,
    );
  return {
    /** A row where a text of an attribute, or of a list of texts, has more than so many characters. */
    longer: (number: number, attribute: number, isList: boolean, characters: number): Query => {
      const [table, column] = [documentTable(number), attributeColumn(attribute)];
      const elements =
        dialect === 'sqlite'
          ? `cross join json_each(${column})`
          : `cross join lateral json_array_elements_text(${column}::json) as value`;
      const value = isList ? 'value' : column;
      return {
        sql: `select 1 as one from ${table} ${isList ? elements : ''} where length(${value}) > ${placeholder(1)} limit 1`,
        values: [characters],
      };
    },
    create: (number: number): Query[] => [
      statement(
        `create table ${documentTable(number)} (seq ${sequence}, id ${text} not null unique, created_at ${text} not null, updated_at ${text} not null, permissions ${text} not null, shape ${text} not null, printed ${text} not null)`,
      ),
      statement(
        `create table ${readersTable(number)} (role ${text} not null, seq bigint not null, created_at ${text}, primary key (role, seq))${dialect === 'sqlite' ? ' without rowid' : ''}`,
      ),
      timeIndex(number, 'created'),
      timeIndex(number, 'updated'),
      statement(`insert into ${countsTable} (number, documents) values (${number}, 0)`),
      ...collectionTriggers(dialect, number).map(statement),
    ],
    timeIndex,
    /** Drops the tables of a collection with those of its fulltext indexes. */
    drop: (number: number, fulltext: readonly number[]): Query[] => [
      ...fulltext.flatMap((index) => dropWords(dialect, number, index).map(statement)),
      statement(`drop table ${readersTable(number)}`),
      statement(`drop table ${documentTable(number)}`),
      statement(`delete from ${countsTable} where number = ${number}`),
      ...(dialect === 'postgres' ? [statement(`drop function ${readersTable(number)}_keep()`)] : []),
    ],
    addColumn: (number: number, attribute: number, kind: ColumnKind): Query =>
      statement(
        `alter table ${documentTable(number)} add column ${attributeColumn(attribute)} ${types[dialect][kind]}`,
      ),
    dropColumn: (number: number, attribute: number): Query =>
      statement(`alter table ${documentTable(number)} drop column ${attributeColumn(attribute)}`),
    createIndex: (number: number, index: number, columns: readonly IndexedColumn[], unique: boolean): Query => {
      const list = columns.map(({ attribute, descending }) => attributeColumn(attribute) + order(descending));
      // The tie-break of every list; SQLite has it in each index anyway.
      if (dialect === 'postgres' && !unique) list.push('seq');
      return statement(
        `create ${unique ? 'unique ' : ''}index ${indexName(number, index)} on ${documentTable(number)} (${list.join(', ')})`,
      );
    },
    /** Makes the table of a fulltext index, which loses the words of a document with the document. */
    createWords: (number: number, index: number): Query[] => createWords(dialect, number, index).map(statement),
    dropWords: (number: number, index: number): Query[] => dropWords(dialect, number, index).map(statement),
    /**
     * Makes the tables of an earlier layout keep what those of the present one keep, for every document that is written from then on. No document
     * is written between the count and the commit, as the tables are locked.
     */
    beginUpgrade: (number: number): Query[] => [
      statement(`alter table ${readersTable(number)} add column created_at ${text}`),
      ...replacedTriggers(dialect, number).map(statement),
      statement(
        `insert into ${countsTable} (number, documents) select ${number}, count(*) from ${documentTable(number)}`,
      ),
    ],
    /**
     * Fills what an earlier layout lacks for documents of some sequences: beyond the first and up to the last. Postgres locks them first, so
     * that readers who lose a document meanwhile are not written back.
     */
    upgradeReaders: (number: number, after: number, to: number): Query => {
      const lock = dialect === 'postgres' ? ' order by seq for no key update' : '';
      const batch = `select seq, created_at, permissions from ${documentTable(number)} where seq > ${placeholder(1)} and seq <= ${placeholder(2)}${lock}`;
      return {
        sql: `with batch as (${batch}) insert into ${readersTable(number)} (role, seq, created_at) select ${rolesOf(dialect, 'batch')} on conflict (role, seq) do update set created_at = excluded.created_at`,
        values: [after, to],
      };
    },
    lastSequence: (number: number): Query => statement(`select max(seq) as last from ${documentTable(number)}`),
    /** Which time has no index yet, if any, as `time`. */
    missingTimeIndex: (number: number): Query => {
      const name = `'${documentTable(number)}_' || time`;
      const exists =
        dialect === 'sqlite'
          ? `exists (select 1 from sqlite_schema where type = 'index' and name = ${name})`
          : `to_regclass(${name}) is not null`;
      const times = "select 'created' as time union all select 'updated'";
      return statement(`select time from (${times}) as times where not ${exists} order by time limit 1`);
    },
    /** Postgres appends to the counts of documents: one row for each collection again. */
    sumUpCounts: (): Query[] => {
      if (dialect === 'sqlite') return [];
      const several = `select number from ${countsTable} group by number having count(*) > 1`;
      return [
        statement(
          `with gone as (delete from ${countsTable} where number in (${several}) returning number, documents) insert into ${countsTable} (number, documents) select number, sum(documents) from gone group by number`,
        ),
      ];
    },
    dropIndex: (number: number, index: number): Query => statement(`drop index if exists ${indexName(number, index)}`),
  };
}

/** The statements that make and change the tables of collections. */
export type CollectionDdl = ReturnType<typeof createCollectionDdl>;
