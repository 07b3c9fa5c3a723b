import type { DialectName, Query } from './query.js';

/** How an attribute is stored. A list is JSON text. */
export type ColumnKind = 'text' | 'integer' | 'double' | 'boolean' | 'list';

/** The table of a collection; every name in it is made of our own numbers. */
export const documentTable = (number: number): string => `d_${number}`;
/** The table of the roles that may read single documents. */
export const readersTable = (number: number): string => `r_${number}`;
/** The column of an attribute. */
export const attributeColumn = (number: number): string => `a_${number}`;
const indexName = (collection: number, index: number): string => `i_${collection}_${index}`;

const types: Record<DialectName, Record<ColumnKind, string>> = {
  sqlite: { text: 'text', integer: 'integer', double: 'real', boolean: 'integer', list: 'text' },
  postgres: {
    text: 'text collate "C"',
    integer: 'bigint',
    double: 'double precision',
    boolean: 'boolean',
    list: 'text collate "C"',
  },
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
        `create table ${readersTable(number)} (role ${text} not null, seq bigint not null references ${documentTable(number)} (seq) on delete cascade, primary key (role, seq))${dialect === 'sqlite' ? ' without rowid' : ''}`,
      ),
      statement(`create index ${readersTable(number)}_seq on ${readersTable(number)} (seq)`),
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
 * A permission is `read("role")`, so the role begins at the seventh character and ends two before the last.
 */
function readersTriggers(dialect: DialectName, number: number): string[] {
  const [documents, readers] = [documentTable(number), readersTable(number)];
  if (dialect === 'sqlite') {
    const add = `insert into ${readers} (role, seq) select substr(value, 7, length(value) - 8), new.seq from json_each(new.permissions) where value glob 'read("*'`;
    return [
      `create trigger ${readers}_add after insert on ${documents} when new.permissions <> '[]' begin ${add}; end`,
      `create trigger ${readers}_change after update of permissions on ${documents} begin delete from ${readers} where seq = new.seq; ${add}; end`,
    ];
  }
  const add = `insert into ${readers} (role, seq) select substr(value, 7, length(value) - 8), new.seq from json_array_elements_text(new.permissions::json) where value like 'read("%'`;
  return [
    `create or replace function ${readers}_keep() returns trigger language plpgsql as $$ begin if tg_op = 'UPDATE' then delete from ${readers} where seq = new.seq; end if; ${add}; return null; end $$`,
    `create trigger ${readers}_add after insert on ${documents} for each row when (new.permissions <> '[]') execute function ${readers}_keep()`,
    `create trigger ${readers}_change after update of permissions on ${documents} for each row execute function ${readers}_keep()`,
  ];
}
