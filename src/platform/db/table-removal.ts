import { removedPrefix } from './collection-tables.js';
import type { DialectName } from './dialect-words.js';
import type { Connection } from './driver.js';
import { type Query, statement } from './query.js';
import type { Reader, Unit } from './unit.js';

/** Tables with more rows are removed step by step. */
const mostAtOnce = 1000;
/** Tables of a fulltext index with a row for each document or each page of words. The table itself reads the others when it is dropped. */
const partsOfWords = ['docsize', 'data', 'idx'];

/** Tables to drop, in order, and the statements before and after that. On SQLite those before drop the triggers. */
export interface TableDrop {
  readonly before: readonly Query[];
  readonly tables: readonly string[];
  readonly after: readonly Query[];
}

/** Drops tables of any size without a long transaction. */
export interface TableRemoval {
  /** Drops tables, and sets those aside that are large. */
  drop(unit: Unit, drop: TableDrop): Promise<void>;
  /** The tables set aside, each before those that it refers to. */
  setAside(reader: Reader): Promise<string[]>;
  /** Deletes some rows of a table that was set aside and returns their number. Drops it when it is empty and returns 0. */
  step(unit: Unit, table: string, limit: number): Promise<number>;
}

/**
 * Postgres drops a table of any size at once. SQLite reads all of its pages while every writer waits, so a large table gets another name, by
 * which it is found and emptied later.
 */
export function createTableRemoval(dialect: DialectName): TableRemoval {
  if (dialect === 'postgres')
    return {
      drop: (unit, drop) => dropAll(unit, drop, async (table) => `drop table ${table}`),
      setAside: async () => [],
      step: async () => 0,
    };
  return { drop, setAside, step };
}

async function dropAll(
  unit: Unit,
  { before, tables, after }: TableDrop,
  dropOne: (table: string) => Promise<string>,
): Promise<void> {
  for (const query of before) await unit.run(query);
  for (const table of tables) await unit.run(statement(await dropOne(table)));
  for (const query of after) await unit.run(query);
}

function drop(unit: Unit, drop: TableDrop): Promise<void> {
  return dropAll(unit, drop, async (table) => {
    const rows = isOfWords(table) ? `${table}_docsize` : table;
    const counted = await unit.one(
      statement(`select count(*) as count from (select 1 from ${rows} limit ${mostAtOnce + 1})`),
    );
    const isLarge = Number(counted?.count) > mostAtOnce;
    return isLarge ? `alter table ${table} rename to ${removedPrefix}${table}` : `drop table ${table}`;
  });
}

async function setAside(reader: Reader): Promise<string[]> {
  const found = await reader.all(
    statement(`select name from sqlite_schema where type = 'table' and name glob '${removedPrefix}*'`),
  );
  const names = found.map(({ name }) => String(name)).filter((name) => !isPartOfWords(name));
  // Links refer to documents.
  return names.sort((one, other) => Number(isOfDocuments(one)) - Number(isOfDocuments(other)));
}

async function step(unit: Unit, table: string, limit: number): Promise<number> {
  const exists = statement('select 1 as one from sqlite_schema where name = ?', [table]);
  // Another process may have dropped it.
  if ((await unit.one(exists)) === undefined) return 0;
  const parts = isOfWords(table) ? partsOfWords.map((part) => `${table}_${part}`) : [table];
  for (const part of parts) {
    const key = (await unit.all(statement(`select name from pragma_table_info('${part}') where pk > 0 order by pk`)))
      .map(({ name }) => String(name))
      .join(', ');
    const removed = await unit.run(
      statement(`delete from ${part} where (${key}) in (select ${key} from ${part} limit ${limit})`),
    );
    if (removed > 0) return removed;
  }
  await unit.run(statement(`drop table ${table}`));
  return 0;
}

const isOfWords = (table: string) => /^(removed_)?w_\d+_\d+$/.test(table);
const isPartOfWords = (table: string) => /^removed_w_\d+_\d+_/.test(table);
const isOfDocuments = (table: string) => /^removed_d_/.test(table);

/** Drops every table and function. Only for Postgres: an SQLite file is replaced as a whole. */
export async function dropEverything(connection: Connection, dialect: DialectName): Promise<void> {
  if (dialect === 'sqlite') throw new TypeError('an SQLite database is restored into a new file');
  const drops = await connection.all(
    statement(
      `select format('drop table %I.%I cascade', schemaname, tablename) as sql from pg_tables where schemaname = current_schema()
       union all select format('drop function %s cascade', p.oid::regprocedure) from pg_proc p
         where pronamespace = current_schema()::regnamespace
           and not exists (select 1 from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
    ),
  );
  for (const { sql } of drops) await connection.run(statement(String(sql)));
}
