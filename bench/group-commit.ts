// What group commit is worth on SQLite: the writes of a document create, driven straight at the driver, with commits shared and not.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#src/platform/db/sqlite.js';
import { machineFacts, print, printMachine, printTable } from './report.js';
import { judge, type Row, type Target } from './row.js';
import { percentile } from './statistics.js';

const rounds = 5;
const seconds = 2;
const connections = 32;

const schema = [
  'create table documents (seq integer primary key autoincrement, id text not null unique, author text, title text, body text)',
  'create index by_author on documents (author)',
  'create table readers (role text not null, seq bigint not null, primary key (role, seq))',
  'create table audit_entries (id text primary key, resource text, at text)',
  'create table events (id text primary key, type text, data text)',
];

type Writer = Awaited<ReturnType<typeof openWriter>>;

async function openWriter(directory: string, largestGroup: number) {
  const driver = await openSqlite(join(directory, `group-of-${largestGroup}.db`), { largestGroup });
  for (const sql of schema)
    await driver.exclusive((connection) => connection.run({ sql, values: [] }).then(() => undefined));
  let last = 0;
  const create = () => {
    const id = `document${last++}`;
    return driver.transact(async (connection) => {
      const values = [id, `author${last % 100}`, `What ${id} has to say`, `Paragraph of ${id}. `.repeat(20)];
      const [row] = await connection.all({
        sql: "insert into documents (id, author, title, body) values (?, ?, ?, ?) returning seq, json_object('id', id, 'title', title, 'body', body) as document",
        values,
      });
      const roles = JSON.stringify(['user:ada']);
      await connection.run({
        sql: 'insert into readers (role, seq) select value, ? from json_each(?)',
        values: [Number(row?.seq), roles],
      });
      const audit = {
        table: 'audit_entries',
        columns: ['id', 'resource', 'at'],
        rows: [[id, `documents/${id}`, '2026']],
      };
      const event = {
        table: 'events',
        columns: ['id', 'type', 'data'],
        rows: [[id, 'created', String(row?.document)]],
      };
      return { value: undefined, inserts: [audit, event] };
    }, Number.POSITIVE_INFINITY);
  };
  return { create, close: () => driver.close() };
}

/** Creates for a while, so many at a time. */
async function load(writer: Writer, atOnce: number): Promise<{ perSecond: number; p50: number }> {
  const latencies: number[] = [];
  const started = performance.now();
  const until = started + seconds * 1000;
  const loop = async (): Promise<void> => {
    for (let before = performance.now(); before < until; before = performance.now()) {
      await writer.create();
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
  const elapsed = (performance.now() - started) / 1000;
  return {
    perSecond: latencies.length / elapsed,
    p50: percentile(
      latencies.toSorted((a, b) => a - b),
      0.5,
    ),
  };
}

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-group-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
const shared = await openWriter(directory, 64);
const alone = await openWriter(directory, 1);
await Promise.all([load(shared, 1), load(alone, 1)]);
const many = { shared: [] as number[], alone: [] as number[] };
const one = { shared: [] as number[], alone: [] as number[] };
for (let round = 0; round < rounds; round++) {
  for (const [name, writer] of Object.entries({ shared, alone }) as ['shared' | 'alone', Writer][]) {
    many[name].push((await load(writer, connections)).perSecond);
    one[name].push((await load(writer, 1)).p50);
  }
}
await shared.close();
await alone.close();
const row = (measure: string, { shared, alone }: typeof many, bound: Target['bound'], value: number): Row => ({
  ...{ measure, ours: shared, base: alone },
  target: { of: 'ratio', bound, value },
});
const rows = [
  row(`creates per second, ${connections} at a time`, many, 'least', 2),
  row('p50 ms, one at a time', one, 'most', 1.1),
];
printMachine(machineFacts());
printTable('sqlite', [{ database: 'sqlite', scenario: 'group commit', rows }]);
print('\nCompared with the same writes, each with a commit of its own.');
process.exitCode = rows.every((row) => judge(row).met) ? 0 : 1;
