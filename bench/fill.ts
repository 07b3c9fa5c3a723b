// Fills the collections of `secured.ts` while no server runs. All documents are copies of document 0, which the service has written: each value that
// depends on the number of a document is replaced, in its column and wherever the printed document holds it. So nothing here knows how documents
// are printed, and builds that print them differently can be compared.
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import type { Connection, Driver } from '#src/platform/db/driver.js';
import type { Row } from '#src/platform/db/table.js';
import { article } from './articles.js';
import { ownerId } from './people.js';
import { type Audience, documentId, type Secured } from './secured.js';

type Dialect = Driver['dialect'];

/** What a column holds for document `g`, as SQL, and the piece of the printed document that shows it. */
interface FilledColumn {
  readonly column: string;
  readonly value: string;
  readonly piece: string;
  readonly printed: string;
}

const rowsAtOnce = 20_000;
/** The first characters of an instant: up to its milliseconds. What follows is the zone. */
const zoneAt = 23;

/** Writes documents 1 up to the number of rows into the collections of the audiences, through the triggers. */
export async function fillSecured(driver: Driver, secured: Secured, audiences: readonly Audience[]): Promise<void> {
  for (const audience of audiences) {
    const { table, insert } = await driver.exclusive((connection) =>
      prepare(connection, driver.dialect, secured, audience),
    );
    for (let from = 1; from < secured.rows; from += rowsAtOnce) {
      const sql = insert(from, Math.min(from + rowsAtOnce, secured.rows) - 1);
      await driver.exclusive((connection) => connection.run({ sql, values: [] }));
    }
    if (driver.dialect === 'postgres') {
      const sql = `select setval(pg_get_serial_sequence('${table}', 'seq'), (select max(seq) from ${table}))`;
      await driver.exclusive((connection) => connection.all({ sql, values: [] }));
    }
  }
  await driver.optimize();
}

/** Document 0 gets its age; the statement that copies it takes the first and the last number. */
async function prepare(
  connection: Connection,
  dialect: Dialect,
  { rows, owners }: Secured,
  audience: Audience,
): Promise<{ table: string; insert: (from: number, to: number) => string }> {
  const all = (sql: string) => connection.all({ sql, values: [] });
  const [collection] = await all(`select number, attributes from collections where id = '${audience}'`);
  const table = documentTable(Number(collection?.number));
  const attributes = JSON.parse(String(collection?.attributes)) as { key: string; number: number }[];
  const [written] = await all(`select * from ${table}`);
  if (written === undefined) throw new Error(`${audience} has no document`);
  const createdAt = new Date(Date.now() - rows * 1000).toISOString().slice(0, zoneAt);
  const first = aged(written, `${createdAt}${String(written.created_at).slice(zoneAt)}`);
  const sets = ['created_at', 'updated_at', 'printed'].map((name) => `${name} = ${literal(String(first[name]))}`);
  await all(`update ${table} set ${sets.join(', ')}`);
  const columns = [
    ...systemColumns(dialect, first, owners),
    ...attributes.map(({ key, number }) => attributeOf(dialect, first, key, attributeColumn(number), owners)),
  ];
  const names = Object.keys(first);
  const values = names.map((name) => {
    if (name === 'printed') return printedSql(columns);
    return columns.find(({ column }) => column === name)?.value ?? `copied.${name}`;
  });
  const overriding = dialect === 'postgres' ? ' overriding system value' : '';
  const insert = (from: number, to: number): string =>
    `insert into ${table} (${names.join(', ')})${overriding} select ${values.join(', ')} from ${series(dialect, from, to)}, (select * from ${table} where seq = ${Number(first.seq)}) as copied order by g`;
  return { table, insert };
}

/** The printed document of a copy. */
function printedSql(columns: readonly FilledColumn[]): string {
  return columns.reduce((sql, { piece, printed }) => {
    const [key = ''] = /^"[^"]+":/.exec(piece) ?? [];
    return `replace(${sql}, ${literal(piece)}, ${literal(key)} || ${printed})`;
  }, 'copied.printed');
}

function systemColumns(dialect: Dialect, first: Row, owners: number): FilledColumn[] {
  const text = (column: string, name: string, value: string): FilledColumn => ({
    column,
    value,
    piece: `"${name}":"${first[column]}"`,
    printed: quoted(value),
  });
  const permissions = `replace(${literal(String(first.permissions))}, ${literal(ownerId(0))}, 'owner' || (g % ${owners}))`;
  const instant = later(dialect, String(first.created_at), 'seconds');
  const seq = `g + ${Number(first.seq)}`;
  return [
    text('id', '$id', `${literal(documentId(0).slice(0, -1))} || g`),
    { ...text('seq', '$sequence', seq), printed: quoted(`(${seq})`) },
    text('created_at', '$createdAt', instant),
    text('updated_at', '$updatedAt', instant),
    {
      column: 'permissions',
      value: permissions,
      piece: `"$permissions":${first.permissions}`,
      printed: permissions,
    },
  ];
}

/** An attribute as `article` makes it. */
function attributeOf(dialect: Dialect, first: Row, key: string, column: string, owners: number): FilledColumn {
  const isSqlite = dialect === 'sqlite';
  const paragraph = `'Paragraph ' || g || '. '`;
  const values: Readonly<Record<string, string>> = {
    title: `'What article number ' || g || ' has to say about its subject'`,
    body: isSqlite ? `replace(hex(zeroblob(20)), '00', ${paragraph})` : `repeat(${paragraph}, 20)`,
    author: `'author' || (g % ${owners})`,
    state: `case when g % 4 = 0 then 'draft' else 'published' end`,
    views: 'g * 37',
    rating: `(g % 50) / ${isSqlite ? '10.0' : 'cast(10 as double precision)'}`,
    featured: '(g % 10 = 0)',
    publishedAt: later(dialect, String(first[column]), 'minutes'),
  };
  const value = values[key];
  if (value === undefined) throw new Error(`no value for ${key}`);
  const given = article(0, owners)[key];
  if (typeof given === 'string') {
    const piece = `"${key}":${JSON.stringify(first[column])}`;
    return { column, value, piece, printed: quoted(value) };
  }
  const printed =
    typeof given === 'boolean' ? `case when ${value} then 'true' else 'false' end` : `cast(${value} as text)`;
  return { column, value, piece: `"${key}":${given}`, printed };
}

/** An instant so many units after another, in the same form. */
function later(dialect: Dialect, instant: string, unit: 'seconds' | 'minutes'): string {
  const [from, zone] = [instant.slice(0, zoneAt), instant.slice(zoneAt)];
  const sql =
    dialect === 'sqlite'
      ? `strftime('%Y-%m-%dT%H:%M:%f', '${from}', '+' || g || ' ${unit}')`
      : `to_char(timestamp '${from}' + g * interval '1 ${unit}', 'YYYY-MM-DD"T"HH24:MI:SS.MS')`;
  return `${sql} || '${zone}'`;
}

function series(dialect: Dialect, from: number, to: number): string {
  return dialect === 'sqlite'
    ? `(with recursive numbers(g) as (select ${from} union all select g + 1 from numbers where g < ${to}) select g from numbers) as numbers`
    : `generate_series(cast(${from} as bigint), ${to}) as numbers(g)`;
}

/** The row with another age. */
function aged(row: Row, createdAt: string): Row {
  const printed = String(row.printed)
    .replace(`"$createdAt":"${row.created_at}"`, `"$createdAt":"${createdAt}"`)
    .replace(`"$updatedAt":"${row.updated_at}"`, `"$updatedAt":"${createdAt}"`);
  return { ...row, created_at: createdAt, updated_at: createdAt, printed };
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
/** A value that JSON need not escape, in quotes. */
const quoted = (value: string): string => `'"' || ${value} || '"'`;
