// The tables that the code describes and the tables that the migrations make are the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRuntime, tablesOf } from '../harness/platform.js';
import { describedTables } from '../harness/tables.js';

/** Written by the platform itself, in whole rows of text, or by single statements in words of our own. */
const withoutCodecs = [
  'collection_counts',
  'event_sequences',
  'events',
  'installation',
  'message_outages',
  'number_sequences',
  'schema_migrations',
];

test('every table of the code is in the database, column by column, and the other way round', async () => {
  const { runtime } = await startRuntime();
  await runtime.migrator.up();
  const migrated = await tablesOf(runtime);
  const described = await describedTables();
  assert.ok(described.length >= 7);
  for (const table of described) {
    const expected = Object.entries(table.codecs).map(([key, { storage, nullable }]) => ({
      name: table.columns[key] ?? '',
      type: storage,
      nullable,
    }));
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    assert.deepEqual([...(migrated.get(table.name) ?? [])].sort(byName), expected.sort(byName), table.name);
  }
  // Full-text tables of searches, with the tables that SQLite adds to them.
  const searched = ['users', 'teams', 'files'].flatMap((table) => [
    `${table}_numbers`,
    ...['', '_config', '_data', '_docsize', '_idx'].map((part) => `${table}_search${part}`),
  ]);
  if (runtime.sql.dialect === 'sqlite') withoutCodecs.push(...searched);
  const names = [...described.map(({ name }) => name), ...withoutCodecs];
  assert.deepEqual([...migrated.keys()].sort(), names.sort());
});
