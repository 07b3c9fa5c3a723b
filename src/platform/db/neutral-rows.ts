import { countsTable, removedPrefix } from './collection-tables.js';
import { castTypes, type DialectName, type ElementKind } from './dialect-words.js';
import type { Connection } from './driver.js';
import { type Query, statement } from './query.js';
import type { Row } from './table.js';

/** A table and its columns, without the data that the database derives by itself. */
export interface TableShape {
  readonly name: string;
  readonly columns: { readonly name: string; readonly kind: ElementKind }[];
}

/** Values of a row by column: doubles as numbers, everything else as text, so that 64-bit integers stay exact. */
export type NeutralRow = readonly (string | number | null)[];

/** Readers, counts and words of documents, and the tables of searches, are maintained by triggers and rebuilt; the steps of the schema are listed separately. */
const derived = (name: string): boolean =>
  /^[rw]_\d/.test(name) ||
  /^(users|teams|files)_(search(_\w+)?|numbers)$/.test(name) ||
  name.startsWith(removedPrefix) ||
  [countsTable, 'schema_migrations'].includes(name) ||
  name.startsWith('sqlite_');

/** Rows of one read. Few, because a document can have some megabytes. */
const rowsOfRead = 64;

const kindOf = (type: string): ElementKind => {
  if (/bool/i.test(type)) return 'boolean';
  if (/int/i.test(type)) return 'integer';
  return /real|double|float/i.test(type) ? 'double' : 'text';
};

/** The tables of a database, each after the tables that its foreign keys refer to, and those of collections last. */
export async function tableShapes(connection: Pick<Connection, 'all'>, dialect: DialectName): Promise<TableShape[]> {
  const columns = await connection.all(
    statement(
      dialect === 'sqlite'
        ? "select s.name as tab, i.name as col, i.type from sqlite_schema s join pragma_table_info(s.name) i where s.type = 'table' order by s.name, i.cid"
        : 'select table_name as tab, column_name as col, data_type as type from information_schema.columns where table_schema = current_schema() order by table_name collate "C", ordinal_position',
    ),
  );
  const found = await connection.all(references(dialect));
  const shapes = new Map<string, TableShape>();
  for (const { tab, col, type } of columns) {
    const name = String(tab);
    if (derived(name)) continue;
    const shape = shapes.get(name) ?? { name, columns: [] };
    shape.columns.push({ name: String(col), kind: kindOf(String(type)) });
    shapes.set(name, shape);
  }
  return inOrder(shapes, found);
}

/** Selects which table (`tab`) refers to which (`target`) by a foreign key. */
export function references(dialect: DialectName): Query {
  return statement(
    dialect === 'sqlite'
      ? `select s.name as tab, f."table" as target from sqlite_schema s join pragma_foreign_key_list(s.name) f where s.type = 'table'`
      : "select conrelid::regclass::text as tab, confrelid::regclass::text as target from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace",
  );
}

function inOrder(shapes: ReadonlyMap<string, TableShape>, found: readonly Row[]): TableShape[] {
  const ordered = new Set<TableShape>();
  const add = (name: string): void => {
    const shape = shapes.get(name);
    if (shape === undefined || ordered.has(shape)) return;
    for (const { tab, target } of found) if (tab === name && target !== name) add(String(target));
    ordered.add(shape);
  };
  const isOfCollection = (name: string) => /^[a-z]_\d/.test(name);
  const names = [...shapes.keys()];
  for (const name of names.filter((one) => !isOfCollection(one))) add(name);
  for (const name of names) add(name);
  return [...ordered];
}

/** Reads rows in the order of their primary key, so that a later read can go on after a row. */
interface ReadingOrder {
  /** Columns of the primary key. */
  readonly key: readonly string[];
  /** Values of the key of the row to go on after. */
  readonly after: readonly (string | number | null)[] | undefined;
}

/** Reads the rows of a table within a snapshot, some at a time: all of them, or those after a row. */
export async function* readRows(
  connection: Pick<Connection, 'all' | 'run'>,
  dialect: DialectName,
  { name, columns }: TableShape,
  { key, after }: ReadingOrder = { key: [], after: undefined },
): AsyncGenerator<NeutralRow[]> {
  const list = columns.map(({ name: column, kind }, at) => `${neutral(dialect, column, kind)} as c${at}`).join(', ');
  const toRow = (row: Row): NeutralRow => columns.map((_, at) => row[`c${at}`] ?? null);
  const keyList = key.map((column) => `"${column}"`).join(', ');
  const isIntegerKey = key.map((column) => columns.some((one) => one.name === column && one.kind === 'integer'));
  const places = isIntegerKey.map((isInteger, at) => parameter(dialect, isInteger, at)).join(', ');
  if (dialect === 'sqlite') {
    const [order, place] = key.length === 0 ? ['rowid', '?'] : [keyList, places];
    const page = (from: string) =>
      `select rowid as n, ${list} from ${name}${from} order by ${order} limit ${rowsOfRead}`;
    const next = page(` where (${order}) > (${place})`);
    const keyAt = key.map((column) => columns.findIndex((one) => one.name === column));
    for (let last = after; ; ) {
      const rows = await connection.all(last === undefined ? statement(page('')) : statement(next, last));
      const end = rows.at(-1);
      if (end === undefined) return;
      yield rows.map(toRow);
      last = key.length === 0 ? [Number(end.n)] : keyAt.map((at) => toRow(end)[at] ?? null);
    }
  }
  const cursor = `rows_of_${name}`;
  const from = after === undefined ? '' : ` where (${keyList}) > (${places})`;
  const order = key.length === 0 ? '' : ` order by ${keyList}`;
  await connection.run(
    statement(`declare ${cursor} no scroll cursor for select ${list} from ${name}${from}${order}`, after ?? []),
  );
  for (;;) {
    const rows = await connection.all(statement(`fetch ${rowsOfRead} from ${cursor}`));
    if (rows.length === 0) break;
    yield rows.map(toRow);
  }
  await connection.run(statement(`close ${cursor}`));
}

function parameter(dialect: DialectName, isInteger: boolean, at: number): string {
  if (dialect === 'sqlite') return isInteger ? 'cast(? as integer)' : '?';
  return `cast($${at + 1} as ${isInteger ? 'bigint' : 'text'})`;
}

function neutral(dialect: DialectName, column: string, kind: ElementKind): string {
  if (kind === 'double') return `"${column}"`;
  return kind === 'boolean' && dialect === 'postgres'
    ? `cast(cast("${column}" as integer) as text)`
    : `cast("${column}" as text)`;
}

/** Most values of one statement; SQLite takes 32 766. */
const valuesOfInsert = 8000;

/** Statements that insert rows. A row with the same primary key is replaced. */
export function insertRows(
  dialect: DialectName,
  { name, columns }: TableShape,
  key: readonly string[],
  rows: readonly NeutralRow[],
): Query[] {
  const list = columns.map((column) => `"${column.name}"`).join(', ');
  const others = columns.filter((column) => !key.includes(column.name));
  const replaced = others.map((column) => `"${column.name}" = excluded."${column.name}"`).join(', ');
  const conflict =
    key.length === 0
      ? ''
      : ` on conflict (${key.join(', ')}) do ${replaced === '' ? 'nothing' : `update set ${replaced}`}`;
  if (dialect === 'postgres') {
    const values = columns.map(({ kind }, at) => `cast(value ->> ${at} as ${castTypes[kind]})`).join(', ');
    const sql = `insert into ${name} (${list}) overriding system value select ${values} from json_array_elements(cast($1 as json)) as value${conflict}`;
    return [statement(sql, [JSON.stringify(rows)])];
  }
  const together = Math.max(1, Math.floor(valuesOfInsert / columns.length));
  const one = `(${columns.map(() => '?').join(', ')})`;
  return Array.from({ length: Math.ceil(rows.length / together) }, (_, turn) => {
    const some = rows.slice(turn * together, (turn + 1) * together);
    // Columns of numbers convert texts to numbers.
    return statement(`insert into ${name} (${list}) values ${some.map(() => one).join(', ')}${conflict}`, some.flat());
  });
}

/** The columns of the primary key of a table. */
export async function primaryKey(
  connection: Pick<Connection, 'all'>,
  dialect: DialectName,
  table: string,
): Promise<string[]> {
  const rows = await connection.all(
    dialect === 'sqlite'
      ? statement('select name from pragma_table_info(?) where pk > 0 order by pk', [table])
      : statement(
          'select a.attname as name from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey) where i.indisprimary and i.indrelid = cast($1 as regclass)',
          [table],
        ),
  );
  return rows.map(({ name }) => String(name));
}

/** The last sequence that was given to a document of a table, as text; null if there never was one. */
export async function lastSequence(
  connection: Pick<Connection, 'all'>,
  dialect: DialectName,
  table: string,
): Promise<string | null> {
  const [row] = await connection.all(
    dialect === 'sqlite'
      ? statement('select cast(seq as text) as last from sqlite_sequence where name = ?', [table])
      : statement('select cast(pg_sequence_last_value(pg_get_serial_sequence($1, $2)) as text) as last', [
          table,
          'seq',
        ]),
  );
  return row?.last === undefined || row.last === null ? null : String(row.last);
}

/** Statements after which new documents of a table get sequences above the last one. */
export function continueSequence(dialect: DialectName, table: string, last: string): Query[] {
  if (dialect === 'postgres')
    return [statement("select setval(pg_get_serial_sequence($1, 'seq'), cast($2 as bigint))", [table, last])];
  return [
    statement('delete from sqlite_sequence where name = ?', [table]),
    statement('insert into sqlite_sequence (name, seq) values (?, cast(? as integer))', [table, last]),
  ];
}
