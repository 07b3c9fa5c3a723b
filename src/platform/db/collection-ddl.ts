import type { DialectName, Query } from './query.js';

/** How an attribute is stored. A list is JSON text. */
export type ColumnKind = ElementKind | 'list';
/** How a single value is stored. */
export type ElementKind = 'text' | 'integer' | 'double' | 'boolean';

/** The table of a collection; every name in it is made of our own numbers. */
export const documentTable = (number: number): string => `d_${number}`;
/** The table of the roles that may read single documents. */
export const readersTable = (number: number): string => `r_${number}`;
/** The column of an attribute. */
export const attributeColumn = (number: number): string => `a_${number}`;
const indexName = (collection: number, index: number): string => `i_${collection}_${index}`;

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

/** The statements that make and change the tables of collections, on either database, inside a transaction. */
export function createCollectionDdl(dialect: DialectName) {
  const statement = (sql: string): Query => ({ sql, values: [] });
  const text = types[dialect].text;
  const sequence =
    dialect === 'sqlite' ? 'integer primary key autoincrement' : 'bigint generated always as identity primary key';
  // In both databases nulls come first ascending and last descending; Postgres has to be told.
  const order = (descending: boolean) =>
    dialect === 'sqlite' ? (descending ? ' desc' : '') : descending ? ' desc nulls last' : ' nulls first';
  return {
    create: (number: number): Query[] => [
      statement(
        `create table ${documentTable(number)} (seq ${sequence}, id ${text} not null unique, created_at ${text} not null, updated_at ${text} not null, permissions ${text} not null, shape ${text} not null, printed ${text} not null)`,
      ),
      statement(
        `create table ${readersTable(number)} (role ${text} not null, seq bigint not null, primary key (role, seq))${dialect === 'sqlite' ? ' without rowid' : ''}`,
      ),
      ...readersTriggers(dialect, number).map(statement),
    ],
    drop: (number: number): Query[] => [
      statement(`drop table ${readersTable(number)}`),
      statement(`drop table ${documentTable(number)}`),
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
    dropIndex: (number: number, index: number): Query => statement(`drop index if exists ${indexName(number, index)}`),
  };
}

/** The statements that make and change the tables of collections. */
export type CollectionDdl = ReturnType<typeof createCollectionDdl>;

/**
 * Keeps the roles that may read a document beside it, in the statement that writes the document: one statement less for each write.
 * A permission is `read("role")`, so the role begins at the seventh character and ends two before the last. Rows are found by the roles
 * that their document had, so that each is one entry in one index.
 */
function readersTriggers(dialect: DialectName, number: number): string[] {
  const [documents, readers] = [documentTable(number), readersTable(number)];
  const role = 'substr(value, 7, length(value) - 8)';
  const roles = (row: string) =>
    dialect === 'sqlite'
      ? `json_each(${row}.permissions) where value glob 'read("*'`
      : `json_array_elements_text(${row}.permissions::json) as value where value like 'read("%'`;
  const add = `insert into ${readers} (role, seq) select ${role}, new.seq from ${roles('new')}`;
  const remove = `delete from ${readers} where seq = old.seq and role in (select ${role} from ${roles('old')})`;
  if (dialect === 'sqlite') {
    return [
      `create trigger ${readers}_add after insert on ${documents} when new.permissions <> '[]' begin ${add}; end`,
      `create trigger ${readers}_change after update of permissions on ${documents} begin ${remove}; ${add}; end`,
      `create trigger ${readers}_remove after delete on ${documents} when old.permissions <> '[]' begin ${remove}; end`,
    ];
  }
  const addAll = `insert into ${readers} (role, seq) select ${role}, added.seq from added cross join lateral ${roles('added')}`;
  const change = `${remove}; if tg_op = 'UPDATE' then ${add}; end if`;
  const keep = `execute function ${readers}_keep()`;
  return [
    `create or replace function ${readers}_keep() returns trigger language plpgsql as $$ begin if tg_op = 'INSERT' then ${addAll}; else ${change}; end if; return null; end $$`,
    `create trigger ${readers}_add after insert on ${documents} referencing new table as added for each statement ${keep}`,
    `create trigger ${readers}_change after update of permissions on ${documents} for each row ${keep}`,
    `create trigger ${readers}_remove after delete on ${documents} for each row when (old.permissions <> '[]') ${keep}`,
  ];
}
