// The table of docs/decisions/clock.md has a row for every stored time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codes, readTable } from '../harness/markdown.js';
import { startRuntime, tablesOf } from '../harness/platform.js';
import { describedTables } from '../harness/tables.js';

/** What the columns of times are called. */
const timeName =
  /(^|_)(at|until|from|since|slot|step|expire|expires|invited|joined|arrival|deadline|due)$|^password_update$/;

/** A release, not a time. */
const notTimes = ['schema_migrations.usable_from'];

const rows = readTable('docs/decisions/clock.md', 'stored time');
const documented = new Set(rows.flatMap(([times]) => codes(times)));
const isDocumented = (table: string, column: string) =>
  documented.has(`${table}.${column}`) || documented.has(`*.${column}`);

test('every stored time has its row, and every row its stored time', async () => {
  const { runtime } = await startRuntime();
  await runtime.migrator.up();
  const migrated = await tablesOf(runtime);
  const all = [...migrated].flatMap(([table, columns]) => columns.map(({ name }) => `${table}.${name}`));
  for (const name of documented) {
    const [table, column] = name.split('.');
    assert.ok(table === '*' ? all.some((one) => one.endsWith(`.${column}`)) : all.includes(name), name);
  }
  const lacking = all.filter((name) => {
    const [table = '', column = ''] = name.split('.');
    return timeName.test(column) && !notTimes.includes(name) && !isDocumented(table, column);
  });
  assert.deepEqual(lacking, []);
  for (const [times, ...says] of rows) assert.ok(says.length === 3 && says.every((cell) => cell !== ''), times);
});

test('every time in a table of the code is described as one', async () => {
  const undescribed: string[] = [];
  const lacking: string[] = [];
  for (const { name, columns, codecs } of await describedTables()) {
    for (const [key, { isTime }] of Object.entries(codecs)) {
      const column = columns[key] ?? '';
      if (!isTime && timeName.test(column)) undescribed.push(`${name}.${column}`);
      if (isTime && !isDocumented(name, column)) lacking.push(`${name}.${column}`);
    }
  }
  assert.deepEqual(undescribed, [], 'use the codecs `instant` and `epoch` of platform/db/table.ts');
  assert.deepEqual(lacking, [], 'describe the effect of clock changes in docs/decisions/clock.md');
});
