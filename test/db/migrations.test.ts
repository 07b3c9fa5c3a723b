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
import { schemaOf, startRuntime, statement, tablesOf } from '../harness/platform.js';

test('up, all the way down and up again on an empty database', async () => {
  const { runtime } = await startRuntime();
  const { migrator } = runtime;
  const names = migrator.migrations.map(({ name }) => name);
  assert.deepEqual(await migrator.status(), { applied: [], pending: names, unknown: [], unusable: [] });
  assert.equal((await tablesOf(runtime)).size, 0);

  assert.deepEqual(await migrator.up(), names);
  const schema = await schemaOf(runtime);
  assert.deepEqual(await migrator.status(), { applied: names, pending: [], unknown: [], unusable: [] });
  assert.deepEqual(await migrator.up(), []);

  for (const name of [...names].reverse()) assert.equal(await migrator.down(), name);
  assert.equal(await migrator.down(), undefined);
  assert.deepEqual([...(await tablesOf(runtime)).keys()], ['schema_migrations']);
  assert.deepEqual((await migrator.status()).pending, names);

  assert.deepEqual(await migrator.up(), names);
  assert.deepEqual(await schemaOf(runtime), schema);
});

test('each step names the oldest version that can work with the schema after it', async () => {
  const { runtime } = await startRuntime();
  // Earlier steps are those of the first release.
  const later = runtime.migrator.migrations.filter(({ name }) => name >= '0054');
  assert.deepEqual(
    later.filter(({ usableFrom }) => !/^\d+\.\d+\.\d+$/.test(usableFrom ?? '')),
    [],
  );
});

test('one step at a time ends in the same schema', async () => {
  const { runtime } = await startRuntime();
  const { runtime: atOnce } = await startRuntime();
  await atOnce.migrator.up();
  for (const { name } of runtime.migrator.migrations) assert.deepEqual(await runtime.migrator.up(name), [name]);
  assert.deepEqual(await schemaOf(runtime), await schemaOf(atOnce));
});

test('what is planned up to a step is what that and those before it do', async () => {
  const { runtime } = await startRuntime();
  const { migrator } = runtime;
  const [first, second] = migrator.migrations;
  const planned = async (to: string | undefined) => (await migrator.planUp(to)).flatMap(({ sql }) => sql);
  const whole = await planned(undefined);
  const statements = (await planned(first?.name)).length;
  assert.deepEqual(
    await planned(first?.name),
    first?.up([]).map(({ sql }) => sql),
  );
  assert.deepEqual(await planned(second?.name), whole.slice(0, statements + (second?.up([]).length ?? 0)));
  await migrator.up(first?.name);
  assert.deepEqual(await planned(first?.name), []);
});

test('down and up on a database in use', async () => {
  const target = await startAppliance();
  await aLoggedInUser(target);
  const { runtime } = target.appliance;
  const schema = await schemaOf(runtime);
  while ((await runtime.migrator.down()) !== undefined);
  await runtime.migrator.up();
  assert.deepEqual(await schemaOf(runtime), schema);
  assert.deepEqual(await rowsOf(target, 'users'), []);
});

test('a migration that fails leaves the old schema', async () => {
  const { runtime } = await startRuntime();
  const { driver, migrator } = runtime;
  await migrator.up();
  const schema = await schemaOf(runtime);
  const broken = {
    name: '9999_broken',
    up: () =>
      ['create table half_done (id text)', 'create table half_done (id text)'].map((sql) => ({ sql, values: [] })),
    down: () => [],
  };
  const next = createMigrator(driver, [...migrator.migrations, broken], () => '2026-01-01T00:00:00.000Z');
  await assert.rejects(next.up(), { name: 'DatabaseError' });
  assert.deepEqual(await schemaOf(runtime), schema);
  assert.deepEqual((await next.status()).pending, ['9999_broken']);
});

test('processes that start together migrate once', async () => {
  const { runtime, another } = await startRuntime();
  const others = [await another(), await another()];
  const applied = await Promise.all([runtime, ...others].map(({ migrator }) => migrator.up()));
  const names = runtime.migrator.migrations.map(({ name }) => name);
  assert.deepEqual(
    applied.filter((list) => list.length > 0),
    [names],
  );
});

test('a migration applied by a newer version is called unknown', async () => {
  const { runtime } = await startRuntime();
  await runtime.migrator.up();
  const row = ['9999_of_the_future', '2030-01-01T00:00:00.000Z'];
  await runtime.db.all(statement(runtime, 'insert into schema_migrations (name, applied_at) values (?, ?)', row));
  assert.deepEqual((await runtime.migrator.status()).unknown, ['9999_of_the_future']);
});

test('a directory without migrations is a mistake, not an empty schema', async (t) => {
  const { runtime } = await startRuntime();
  const empty = mkdtempSync(join(tmpdir(), 'svc-none-'));
  t.after(() => rmSync(empty, { recursive: true }));
  await assert.rejects(loadMigrations(empty, runtime.sql), /no migrations/);
});
