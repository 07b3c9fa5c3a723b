// The tables that the code describes and the tables that the migrations make are the same.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { table } from '#src/platform/db/table.js';
import { root } from '../harness/checkout.js';
import { startPlatform, tablesOf } from '../harness/platform.js';

/** Written by the platform itself, in whole rows of text, or by single statements in words of our own. */
const withoutCodecs = ['event_sequences', 'events', 'installation', 'number_sequences', 'schema_migrations'];

function isTable(value: unknown): value is ReturnType<typeof table<Record<string, unknown>>> {
  return typeof value === 'object' && value !== null && 'codecs' in value && 'encodeSome' in value;
}

async function describedTables() {
  const features = join(root, 'src/features');
  const stores = readdirSync(features, { recursive: true, encoding: 'utf8' }).filter((path) => /store\.ts$/.test(path));
  const modules = await Promise.all(stores.map((path) => import(pathToFileURL(join(features, path)).href)));
  return modules.flatMap((module) => Object.values(module)).filter(isTable);
}

test('every table of the code is in the database, column by column, and the other way round', async () => {
  const { platform } = await startPlatform();
  await platform.migrator.up();
  const migrated = await tablesOf(platform);
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
  const names = [...described.map(({ name }) => name), ...withoutCodecs];
  assert.deepEqual([...migrated.keys()].sort(), names.sort());
});
