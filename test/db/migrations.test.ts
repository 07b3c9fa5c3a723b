// The schema moves up and down, whole or not at all.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMigrator, loadMigrations } from '#src/platform/db/migrations.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { rowsOf } from '../harness/database.js';
import { schemaOf, startPlatform, statement, tablesOf } from '../harness/platform.js';

test('up, all the way down and up again on an empty database', async () => {
  const { platform } = await startPlatform();
  const { migrator } = platform;
  const names = migrator.migrations.map(({ name }) => name);
  assert.deepEqual(await migrator.status(), { applied: [], pending: names, unknown: [] });
  assert.equal((await tablesOf(platform)).size, 0);

  assert.deepEqual(await migrator.up(), names);
  const schema = await schemaOf(platform);
  assert.deepEqual(await migrator.status(), { applied: names, pending: [], unknown: [] });
  assert.deepEqual(await migrator.up(), []);

  for (const name of [...names].reverse()) assert.equal(await migrator.down(), name);
  assert.equal(await migrator.down(), undefined);
  assert.deepEqual([...(await tablesOf(platform)).keys()], ['schema_migrations']);
  assert.deepEqual((await migrator.status()).pending, names);

  assert.deepEqual(await migrator.up(), names);
  assert.deepEqual(await schemaOf(platform), schema);
});

test('one step at a time ends in the same schema', async () => {
  const { platform } = await startPlatform();
  const { platform: atOnce } = await startPlatform();
  await atOnce.migrator.up();
  for (const { name } of platform.migrator.migrations) assert.deepEqual(await platform.migrator.up(name), [name]);
  assert.deepEqual(await schemaOf(platform), await schemaOf(atOnce));
});

test('down and up on a database in use', async () => {
  const target = await startAppliance();
  await aLoggedInUser(target);
  const { platform } = target.appliance;
  const schema = await schemaOf(platform);
  while ((await platform.migrator.down()) !== undefined);
  await platform.migrator.up();
  assert.deepEqual(await schemaOf(platform), schema);
  assert.deepEqual(await rowsOf(target, 'users'), []);
});

test('a migration that fails leaves the old schema', async () => {
  const { platform } = await startPlatform();
  const { driver, migrator } = platform;
  await migrator.up();
  const schema = await schemaOf(platform);
  const broken = {
    name: '9999_broken',
    up: () =>
      ['create table half_done (id text)', 'create table half_done (id text)'].map((sql) => ({ sql, values: [] })),
    down: () => [],
  };
  const next = createMigrator(driver, [...migrator.migrations, broken], () => '2026-01-01T00:00:00.000Z');
  await assert.rejects(next.up(), { name: 'DatabaseError' });
  assert.deepEqual(await schemaOf(platform), schema);
  assert.deepEqual((await next.status()).pending, ['9999_broken']);
});

test('processes that start together migrate once', async () => {
  const { platform, another } = await startPlatform();
  const others = [await another(), await another()];
  const applied = await Promise.all([platform, ...others].map(({ migrator }) => migrator.up()));
  const names = platform.migrator.migrations.map(({ name }) => name);
  assert.deepEqual(
    applied.filter((list) => list.length > 0),
    [names],
  );
});

test('what a newer version applied is called unknown', async () => {
  const { platform } = await startPlatform();
  await platform.migrator.up();
  const row = ['9999_of_the_future', '2030-01-01T00:00:00.000Z'];
  await platform.db.all(statement(platform, 'insert into schema_migrations (name, applied_at) values (?, ?)', row));
  assert.deepEqual((await platform.migrator.status()).unknown, ['9999_of_the_future']);
});

test('a directory without migrations is a mistake, not an empty schema', async (t) => {
  const { platform } = await startPlatform();
  const empty = mkdtempSync(join(tmpdir(), 'svc-none-'));
  t.after(() => rmSync(empty, { recursive: true }));
  await assert.rejects(loadMigrations(empty, platform.sql), /no migrations/);
});
