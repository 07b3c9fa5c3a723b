import { bind } from '../runtime/bind.js';
import { countsTable, documentTable, readersTable } from './collection-tables.js';
import {
  changeTrigger,
  collectionTriggers,
  readRolesSql,
  replacedTriggers,
  triggerNames,
} from './collection-triggers.js';
import { createWords, dropWords } from './collection-words.js';
import { type ColumnKind, castTypes, type DialectName, dialectWords } from './dialect-words.js';
import { type Query, statement } from './query.js';
import type { TableDrop } from './table-removal.js';

/** The column of an attribute. */
export const attributeColumn = (number: number): string => `a_${number}`;
const indexName = (collection: number, index: number): string => `i_${collection}_${index}`;
/** The names that a `DatabaseError` may use for an index over columns: its name, or the columns. */
export const indexNames = (collection: number, index: number, columns: readonly string[]): readonly string[] => [
  indexName(collection, index),
  columns.map((column) => `${documentTable(collection)}.${column}`).join(', '),
];

const types: Record<DialectName, Record<ColumnKind, string>> = {
  sqlite: { text: 'text', integer: 'integer', double: 'real', boolean: 'integer', list: 'text' },
  postgres: { ...castTypes, text: 'text collate "C"', list: 'text collate "C"' },
};

/** A column of an index. */
interface IndexedColumn {
  readonly column: string;
  /** True for the time of creation or of the last change. */
  readonly isTime: boolean;
  readonly nullable: boolean;
  readonly descending: boolean;
}

/**
 * The statements that create and change the tables of collections, on either database, inside a transaction. Callers that change a table
 * must have locked it with `TableLocks`.
 */
export function createCollectionDdl(dialect: DialectName) {
  const statements = bind(dialect, {
    longer,
    create,
    timeIndex,
    drop,
    addColumn,
    createIndex,
    createWords,
    dropWords,
    beginUpgrade,
    upgradeReaders,
    missingTimeIndex,
    sumUpCounts,
    track,
  });
  return { ...statements, dropColumn, lastSequence, dropIndex };
}

/** The statements that create and change the tables of collections. */
export type CollectionDdl = ReturnType<typeof createCollectionDdl>;

const placeholder = (dialect: DialectName, at: number) => (dialect === 'sqlite' ? '?' : `$${at}`);

/** Selects a row if a text of an attribute, or of a list of texts, is longer than `characters`. */
function longer(dialect: DialectName, number: number, attribute: number, isList: boolean, characters: number): Query {
  const [table, column] = [documentTable(number), attributeColumn(attribute)];
  const elements =
    dialect === 'sqlite'
      ? `cross join json_each(${column})`
      : `cross join lateral json_array_elements_text(${column}::json) as value`;
  const value = isList ? 'value' : column;
  return {
    sql: `select 1 as one from ${table} ${isList ? elements : ''} where length(${value}) > ${placeholder(dialect, 1)} limit 1`,
    values: [characters],
  };
}

function create(dialect: DialectName, number: number): Query[] {
  const { text } = types[dialect];
  const sequence =
    dialect === 'sqlite' ? 'integer primary key autoincrement' : 'bigint generated always as identity primary key';
  return [
    statement(
      `create table ${documentTable(number)} (seq ${sequence}, id ${text} not null unique, created_at ${text} not null, updated_at ${text} not null, permissions ${text} not null, shape ${text} not null, printed ${text} not null)`,
    ),
    statement(
      `create table ${readersTable(number)} (role ${text} not null, seq bigint not null, created_at ${text}, primary key (role, seq))${dialect === 'sqlite' ? ' without rowid' : ''}`,
    ),
    timeIndex(dialect, number, 'created'),
    timeIndex(dialect, number, 'updated'),
    statement(`insert into ${countsTable} (number, documents) values (${number}, 0)`),
    ...collectionTriggers(dialect, number).map((text) => statement(text)),
    ...track(dialect, number),
  ];
}

/** Records changes of documents from now on; the table must be locked. */
function track(dialect: DialectName, number: number): Query[] {
  return changeTrigger(dialect, number).map((text) => statement(text));
}

/** An index for the default order of lists. */
function timeIndex(dialect: DialectName, number: number, time: 'created' | 'updated'): Query {
  return statement(
    // `seq` is the tie-break of every list; SQLite has it in each index anyway.
    `create index if not exists ${documentTable(number)}_${time} on ${documentTable(number)} (${time}_at${dialect === 'postgres' ? ', seq' : ''})`,
  );
}

/** Drops the tables of a collection with those of its fulltext indexes. */
function drop(dialect: DialectName, number: number, fulltext: readonly number[]): TableDrop {
  const words = fulltext.map((index) => dropWords(dialect, number, index));
  return {
    before: [
      ...words.flatMap(({ before }) => before),
      ...(dialect === 'sqlite' ? triggerNames(number).map((name) => statement(`drop trigger if exists ${name}`)) : []),
    ],
    tables: [...words.flatMap(({ tables }) => tables), readersTable(number), documentTable(number)],
    after: [
      statement(`delete from ${countsTable} where number = ${number}`),
      ...(dialect === 'postgres' ? [statement(`drop function ${readersTable(number)}_keep()`)] : []),
    ],
  };
}

function addColumn(dialect: DialectName, number: number, attribute: number, kind: ColumnKind): Query {
  return statement(
    `alter table ${documentTable(number)} add column ${attributeColumn(attribute)} ${types[dialect][kind]}`,
  );
}

function dropColumn(number: number, attribute: number): Query {
  return statement(`alter table ${documentTable(number)} drop column ${attributeColumn(attribute)}`);
}

function createIndex(
  dialect: DialectName,
  number: number,
  index: number,
  columns: readonly IndexedColumn[],
  unique: boolean,
): Query {
  const list = columns.map((one) => one.column + orderOf(dialect, one));
  const last = columns.at(-1);
  // In a list ordered by a time, the tie-break has the direction of the time.
  const falls = last?.isTime === true && last.descending;
  // SQLite has the tie-break of other lists in each index anyway.
  const isNeeded = !unique && !columns.some(({ column }) => column === 'seq') && (dialect === 'postgres' || falls);
  if (isNeeded) list.push(falls ? 'seq desc' : 'seq');
  return statement(
    `create ${unique ? 'unique ' : ''}index ${indexName(number, index)} on ${documentTable(number)} (${list.join(', ')})`,
  );
}

/**
 * Nulls come first when ascending and last when descending; SQLite does so by default, Postgres needs it in the text. List queries leave it
 * out for columns without nulls.
 */
function orderOf(dialect: DialectName, { descending, nullable }: IndexedColumn): string {
  const { nullsFirst, nullsLast } = dialectWords[dialect];
  if (descending) return ` desc${nullable ? nullsLast : ''}`;
  return nullable ? nullsFirst : '';
}

/**
 * Makes tables of an earlier layout maintain the same data as the current one, for every document written from now on. The tables are
 * locked, so no document is written between the count and the commit.
 */
function beginUpgrade(dialect: DialectName, number: number): Query[] {
  return [
    statement(`alter table ${readersTable(number)} add column created_at ${types[dialect].text}`),
    ...replacedTriggers(dialect, number).map((text) => statement(text)),
    statement(
      `insert into ${countsTable} (number, documents) select ${number}, count(*) from ${documentTable(number)}`,
    ),
  ];
}

/**
 * Fills in data missing from an earlier layout, for documents with sequences after `after` and up to `to`. Postgres locks the documents
 * first, so that readers removed concurrently are not written back.
 */
function upgradeReaders(dialect: DialectName, number: number, after: number, to: number): Query {
  const lock = dialect === 'postgres' ? ' order by seq for no key update' : '';
  const batch = `select seq, created_at, permissions from ${documentTable(number)} where seq > ${placeholder(dialect, 1)} and seq <= ${placeholder(dialect, 2)}${lock}`;
  return {
    sql: `with batch as (${batch}) insert into ${readersTable(number)} (role, seq, created_at) select ${readRolesSql(dialect, 'batch')} on conflict (role, seq) do update set created_at = excluded.created_at`,
    values: [after, to],
  };
}

function lastSequence(number: number): Query {
  return statement(`select max(seq) as last from ${documentTable(number)}`);
}

/** Selects the first time column that has no index yet, as `time`. */
function missingTimeIndex(dialect: DialectName, number: number): Query {
  const name = `'${documentTable(number)}_' || time`;
  const exists =
    dialect === 'sqlite'
      ? `exists (select 1 from sqlite_schema where type = 'index' and name = ${name})`
      : `to_regclass(${name}) is not null`;
  const times = "select 'created' as time union all select 'updated'";
  return statement(`select time from (${times}) as times where not ${exists} order by time limit 1`);
}

/** Reduces the counts of documents to one row per collection; Postgres appends to them. */
function sumUpCounts(dialect: DialectName): Query[] {
  if (dialect === 'sqlite') return [];
  // A row of a later transaction than the database has begun comes from a copy of another one, and would look like a change forever.
  const several = `select number from ${countsTable} group by number having count(*) > 1 or bool_or(changed >= pg_snapshot_xmax(pg_current_snapshot()))`;
  return [
    statement(
      `with gone as (delete from ${countsTable} where number in (${several}) returning number, documents) insert into ${countsTable} (number, documents) select number, sum(documents) from gone group by number`,
    ),
  ];
}

function dropIndex(number: number, index: number): Query {
  return statement(`drop index if exists ${indexName(number, index)}`);
}
