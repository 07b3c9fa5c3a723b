// Looks into a database past the service: which tables, columns and indexes there are, and which there should be.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import pg from 'pg';
import sqlite3 from 'sqlite3';
import type { Installation } from '../harness/cli.js';

type Row = Readonly<Record<string, unknown>>;

/** Runs SQL on the database of an installation whose server does not run. */
async function readAll({ dir, env }: Installation, sqls: readonly string[]): Promise<Row[][]> {
  if (env.SVC_DATABASE_URL !== undefined) {
    const client = new pg.Client({ connectionString: env.SVC_DATABASE_URL });
    await client.connect();
    // What the killed server had sent may still be committed meanwhile.
    await client.query('begin isolation level repeatable read');
    const results: Row[][] = [];
    for (const sql of sqls) results.push((await client.query<Row>(sql)).rows);
    await client.end();
    return results;
  }
  const database = new sqlite3.Database(join(dir, 'data/svc.db'));
  const all = (sql: string) =>
    new Promise<Row[]>((resolve, reject) => {
      database.all<Row>(sql, (error, rows) => (error === null ? resolve(rows) : reject(error)));
    });
  const results: Row[][] = [];
  for (const sql of sqls) results.push(await all(sql));
  await new Promise<void>((resolve, reject) => {
    database.close((error) => (error === null ? resolve() : reject(error)));
  });
  return results;
}

const sqliteSql = [
  `select m.name as "table", c.name as "column" from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'`,
  `select name from sqlite_master where type = 'index'`,
];
const postgresSql = [
  `select table_name as "table", column_name as "column" from information_schema.columns where table_schema = 'public'`,
  `select indexname as name from pg_indexes where schemaname = 'public'`,
];

/** Fails unless the tables of collections are exactly those that the rows of the collections describe. */
export async function verifyTables(place: Installation): Promise<number> {
  const [collections = [], columns = [], indexes = []] = await readAll(place, [
    'select number, attributes, indexes, relations from collections',
    ...(place.env.SVC_DATABASE_URL === undefined ? sqliteSql : postgresSql),
  ]);
  const expected = collections.flatMap(({ number, attributes, relations }) => [
    ...links(relations).flatMap((table) => ['parent', 'child', 'restricts'].map((column) => `${table}.${column}`)),
    ...['seq', 'id', 'created_at', 'updated_at', 'permissions', 'shape', 'printed'].map(
      (column) => `d_${number}.${column}`,
    ),
    ...numbers(attributes).map((attribute) => `d_${number}.a_${attribute}`),
    ...['role', 'seq', 'created_at'].map((column) => `r_${number}.${column}`),
  ]);
  const words = collections.flatMap(({ number, indexes: list }) =>
    numbers(list, 'fulltext').map((index) => `w_${number}_${index}`),
  );
  const ofWords = new Set(columns.map(({ table }) => String(table)).filter((name) => /^w_\d+_\d+$/.test(name)));
  assert.deepEqual([...ofWords].sort(), words.sort());
  const found = columns
    .map((row) => `${row.table}.${row.column}`)
    .filter((name) => /^([dr]_\d+|l_\d+_\d+)\./.test(name));
  assert.deepEqual(found.sort(), expected.sort());
  const named = collections.flatMap(({ number, indexes: list }) =>
    numbers(list, 'key').map((index) => `i_${number}_${index}`),
  );
  const there = indexes.map(({ name }) => String(name)).filter((name) => /^i_\d+_\d+$/.test(name));
  assert.deepEqual(there.sort(), named.sort());
  return expected.length;
}

/** The tables of the relationships that a collection has the parents of. */
function links(list: unknown): string[] {
  const relations: { side: string; link: { collection: number; attribute: number } }[] = JSON.parse(String(list));
  return relations.filter(({ side }) => side === 'parent').map(({ link }) => `l_${link.collection}_${link.attribute}`);
}

/** The numbers of attributes, or of indexes of a type. */
function numbers(list: unknown, type?: string): number[] {
  const parts: { number: number; type: string }[] = JSON.parse(String(list));
  return parts.filter((part) => type === undefined || part.type === type).map(({ number }) => number);
}
