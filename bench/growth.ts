// How lists of users, teams and files grow: each list with 1 000 rows and then with many, on both databases.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Driver } from '#src/platform/db/driver.js';
import { type Installation, install } from './installation.js';
import { type Maker, make } from './maker.js';
import { openDatabase } from './open-database.js';
import { startPostgres } from './postgres.js';
import { machineFacts, print, printMachine } from './report.js';
import { sendOnce } from './request.js';
import type { Database } from './scenario-kinds.js';
import { search as queryString } from './secured.js';
import { percentile } from './statistics.js';

const few = 1000;
const rowsAtOnce = 20_000;
const turns = 40;
const most = 3;

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
    only: { type: 'string', multiple: true, default: ['users', 'teams', 'files'] },
  },
});

type Table = 'users' | 'teams' | 'files';

/** A list. Its query is built for a row in the middle of the given number of rows. */
interface List {
  readonly table: Table;
  readonly name: string;
  readonly query: (rows: number, turn: number) => string;
}

const q = (...queries: object[]) => queryString(queries);
const by = (attribute: string, method = 'orderAsc') => ({ method, attribute });
const after = (id: string) => ({ method: 'cursorAfter', values: [id] });
/** Rows of the middle half, another one for each turn. */
const middle = (rows: number, turn: number) => Math.floor(rows / 4) + ((turn * 7919) % Math.floor(rows / 2));
const idOf = (row: number) => `row${row}`;

const ofEach = (table: Table): List[] => [
  { table, name: 'no query', query: () => '' },
  { table, name: 'newest', query: () => q(by('$createdAt', 'orderDesc')) },
  { table, name: 'after a cursor', query: (rows, turn) => q(after(idOf(middle(rows, turn)))) },
  { table, name: 'by name', query: () => q(by('name')) },
  { table, name: 'by name, descending', query: () => q(by('name', 'orderDesc')) },
  { table, name: 'by name, after a cursor', query: (rows, turn) => q(by('name'), after(idOf(middle(rows, turn)))) },
  { table, name: 'offset 900', query: () => q({ method: 'offset', values: [900] }) },
  { table, name: 'offset 5 000', query: () => q({ method: 'offset', values: [5000] }) },
  { table, name: 'offset 200 000', query: () => q({ method: 'offset', values: [200_000] }) },
  { table, name: 'search, one match', query: (rows, turn) => `search=${surnameOf(middle(rows, turn))}` },
  { table, name: 'search, no match', query: () => 'search=nobody.of.this.name' },
  { table, name: 'search, every eighth', query: () => 'search=dora' },
  { table, name: 'search, all match', query: () => 'search=person' },
];

const surnameOf = (row: number) => `n${((row * 39_916_801) % 100_000_000).toString().padStart(8, '0')}`;
const firstNames = ['Ada', 'Bob', 'Carl', 'Dora', 'Emil', 'Fritz', 'Greta', 'Hanna'];

const lists: readonly List[] = [
  ...ofEach('users'),
  {
    table: 'users',
    name: 'by email',
    query: (rows, turn) =>
      q({ method: 'equal', attribute: 'email', values: [`row${middle(rows, turn)}@mail.example`] }),
  },
  { table: 'users', name: 'search an email', query: (rows, turn) => `search=row${middle(rows, turn)}%40mail` },
  {
    table: 'users',
    name: 'created since',
    query: () => q({ method: 'greaterThan', attribute: '$createdAt', values: ['2020-01-01'] }),
  },
  { table: 'users', name: 'blocked', query: () => q({ method: 'equal', attribute: 'status', values: [false] }) },
  {
    table: 'users',
    name: 'with a label',
    query: () => q({ method: 'contains', attribute: 'labels', values: ['vip'] }),
  },
  { table: 'users', name: 'by last access', query: () => q(by('accessedAt', 'orderDesc')) },
  ...ofEach('teams'),
  ...ofEach('files'),
];

const paths: Record<Table, string> = {
  users: '/v1/users',
  teams: '/v1/teams',
  files: '/v1/storage/buckets/bucket/files',
};

/** Creates the first row of each table, which SQL copies. */
async function createFirst(maker: Maker): Promise<void> {
  await make(maker, paths.users, { userId: 'row0', name: 'First', email: 'row0@mail.example' });
  await make(maker, paths.teams, { teamId: 'row0', name: 'First' });
  await make(maker, '/v1/storage/buckets', { bucketId: 'bucket', name: 'Bucket' });
  const body = new FormData();
  body.append('fileId', 'row0');
  body.append('file', new Blob(['text']), 'first.txt');
  const headers = { 'X-Service-Project': maker.project, 'X-Service-Key': maker.key };
  const answer = await fetch(`http://127.0.0.1:${maker.port}${paths.files}`, { method: 'POST', headers, body });
  if (answer.status !== 201) throw new Error(`upload: ${answer.status} ${await answer.text()}`);
}

/** Copies the first row, with ids, names, addresses and times of their own. */
async function fill(driver: Driver, table: Table, from: number, to: number): Promise<void> {
  const isSqlite = driver.dialect === 'sqlite';
  const run = (sql: string) => driver.exclusive((connection) => connection.all({ sql, values: [] }));
  const [row] = await driver.read({ sql: `select * from ${table} where id = 'row0'`, values: [] });
  const padded = isSqlite
    ? "printf('%08d', g * 39916801 % 100000000)"
    : "lpad(cast(cast(g as bigint) * 39916801 % 100000000 as text), 8, '0')";
  const names = firstNames.map((name, at) => `when ${at} then '${name}'`).join(' ');
  const time = isSqlite
    ? "strftime('%Y-%m-%dT%H:%M:%f', 1767225600 + g, 'unixepoch') || '+00:00'"
    : `to_char(timestamp '2026-01-01' + g * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS') || '+00:00'`;
  const own: Readonly<Record<string, string>> = {
    id: "'row' || g",
    name: `case g % 8 ${names} end || ' n' || ${padded} || ' person'`,
    ...(table === 'users' ? { email: "'row' || g || '@mail.example'" } : {}),
    created_at: time,
  };
  const columns = Object.keys(row ?? {});
  const select = columns.map((column) => own[column] ?? `first.${column}`).join(', ');
  const series = (start: number, end: number) =>
    isSqlite
      ? `(with recursive numbers(g) as (select ${start} union all select g + 1 from numbers where g < ${end}) select g from numbers)`
      : `generate_series(${start}, ${end}) as numbers(g)`;
  // Built at once at the end, which is faster than adding to it.
  const index = isSqlite
    ? []
    : await driver.read({ sql: `select indexdef from pg_indexes where indexname = '${table}_search'`, values: [] });
  for (const _ of index) await run(`drop index ${table}_search`);
  for (let start = from; start <= to; start += rowsAtOnce)
    await run(
      `insert into ${table} (${columns.join(', ')}) select ${select} from ${series(start, Math.min(to, start + rowsAtOnce - 1))}, (select * from ${table} where id = 'row0') as first order by g`,
    );
  for (const { indexdef } of index) await run(String(indexdef));
}

/** Milliseconds within which the faster quarter ended, as others may use the machine, or the reason of a refusal. */
async function timed({ table, query }: List, maker: Maker, rows: number): Promise<number | string> {
  const headers = { 'X-Service-Project': maker.project, 'X-Service-Key': maker.key };
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const started = performance.now();
    const answer = await sendOnce({ method: 'GET', path: `${paths[table]}?${query(rows, turn)}`, headers }, maker.port);
    const body = (await answer.json()) as { message?: string };
    times.push(performance.now() - started);
    if (answer.status !== 200) return `${answer.status} ${body.message ?? ''}`;
  }
  return percentile(
    times.toSorted((a, b) => a - b),
    0.25,
  );
}

async function measured(
  installation: Installation,
  chosen: readonly List[],
  rows: number,
): Promise<(number | string)[]> {
  const { project, key } = installation;
  const server = await installation.serve();
  try {
    const maker = { port: server.port, project, key };
    const results: (number | string)[] = [];
    for (const list of chosen) results.push(await timed(list, maker, rows));
    return results;
  } finally {
    await server.stop();
  }
}

const shown = (value: number | string): string => (typeof value === 'number' ? `${value.toFixed(2)} ms` : value);

async function growth(database: Database, directory: string, chosen: readonly List[], rows: number): Promise<void> {
  const postgres = database === 'postgres' ? await startPostgres(join(directory, 'postgres')) : undefined;
  try {
    const installation = await install(join(directory, database), postgres?.url);
    const { project, key } = installation;
    const server = await installation.serve();
    await createFirst({ port: server.port, project, key }).finally(server.stop);
    const results: (number | string)[][] = [];
    for (const [from, to] of [
      [1, few - 1],
      [few, rows - 1],
    ] as const) {
      const driver = await openDatabase(postgres?.url ?? installation.databaseFile);
      for (const table of new Set(chosen.map((list) => list.table))) await fill(driver, table, from, to);
      // It also writes the new rows to disk, which would otherwise slow down the measurement.
      await driver.optimize().finally(driver.close);
      await postgres?.settle();
      results.push(await measured(installation, chosen, to + 1));
    }
    print(`\n${database}, the faster quarter of ${turns} requests ended within`);
    print(`| list | ${few} rows | ${rows} rows | ratio | |\n|---|---|---|---|---|`);
    for (const [at, { table, name }] of chosen.entries()) {
      const [small = '', large = ''] = results.map((all) => all[at] ?? '');
      const ratio = typeof small === 'number' && typeof large === 'number' ? large / small : undefined;
      const verdict = ratio === undefined ? '' : ratio <= most ? 'pass' : 'MISS';
      print(`| ${table}, ${name} | ${shown(small)} | ${shown(large)} | ${ratio?.toFixed(2) ?? ''} | ${verdict} |`);
    }
  } finally {
    await postgres?.stop();
  }
}

const chosen = lists.filter(({ table }) => options.only.includes(table));
const directory = mkdtempSync(join(tmpdir(), 'svc-growth-'));
// Postgres runs as a user of its own.
chmodSync(directory, 0o755);
try {
  printMachine(machineFacts());
  for (const database of options.database) {
    if (database !== 'sqlite' && database !== 'postgres') throw new Error(`no database is called ${database}`);
    await growth(database, directory, chosen, Number(options.rows));
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
