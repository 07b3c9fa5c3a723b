// What the job leaves of files while chunks arrive, and of rows whose file is gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { rowsOf, runSql } from '../harness/database.js';
import { aFileBackend, chunkBytes, someBytes, until, upload, uploadChunk } from './setup.js';

const target = await startAppliance();
const { key, bucket, bytesOf, nothingStays } = await aFileBackend(target);
const { runtime, features } = target.appliance;
const whole = someBytes(2 * chunkBytes + 17);
const ofUpload = { headers: { 'X-Service-Id': 'one' } };

test('objects that are stored for a file that is gone are removed', async () => {
  const files = await bucket();
  (await upload(key, files, 'text', { fileId: 'stays' })).expect(201);
  const rows = (await rowsOf(target, 'file_objects')).map((row) => String(row.key));
  for (const name of ['a', 'b'])
    await runtime.files.write(
      `${target.project.id}/gone/${name}`,
      (async function* () {
        yield Buffer.from(name);
      })(),
    );
  for (const [name, fileId] of [
    ['a', 'stays'],
    ['b', 'gone'],
  ] as const)
    await runSql(
      target,
      `insert into file_objects (key, project_id, bucket_key, file_id, number, size, stored_size, state, changed_at)
        values (?, ?, 'gone', ?, 0, 1, 1, 'stored', '2024-01-01T00:00:00.000Z')`,
      [`${target.project.id}/gone/${name}`, target.project.id, fileId],
    );
  await features.jobs.run('files.sweep');
  assert.deepEqual(
    (await rowsOf(target, 'file_objects')).map((row) => String(row.key)),
    rows,
  );
  assert.equal((await bytesOf(files, 'stays')).toString(), 'text');
  const { missing, orphans } = await features.checkFiles();
  assert.deepEqual([missing, orphans], [[], []]);
  await nothingStays(files);
});

const onPostgres = { skip: databaseUnderTest !== 'postgres' && 'one writer at a time' };

/** Holds every unit that changes a row of a file at this change; `waiting` tells how many wait for a lock. */
async function holdFiles() {
  const client = new pg.Client({ connectionString: target.databaseUrl });
  await client.connect();
  await client.query(`select pg_advisory_lock(42);
    create function wait_for_test() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock_shared(42); return new; end';
    create trigger wait_for_test before update on files for each row execute function wait_for_test()`);
  return {
    waiting: async () => {
      const { rows } = await client.query(
        `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return Number(rows[0]?.count);
    },
    release: async () => {
      await client.query('select pg_advisory_unlock(42)');
    },
    end: async () => {
      await client.query('drop trigger wait_for_test on files; drop function wait_for_test');
      await client.end();
    },
  };
}

test('a chunk that is stored while the job removes the files of its bucket leaves nothing', onPostgres, async () => {
  const files = await bucket();
  (await uploadChunk(key, files, whole, 0, { fileId: 'one' })).expect(201);
  const held = await holdFiles();
  try {
    const chunk = uploadChunk(key, files, whole, 1, ofUpload);
    await until(async () => (await held.waiting()) === 1);
    (await key.delete(files.replace('/files', ''))).expect(204);
    const sweep = features.jobs.run('files.sweep');
    await until(async () => (await held.waiting()) === 2);
    await held.release();
    await Promise.all([chunk, sweep]);
  } finally {
    await held.end();
  }
  await nothingStays(files);
});

test('an upload that gets a chunk while the job gives it up goes on', onPostgres, async () => {
  const files = await bucket();
  (await uploadChunk(key, files, whole, 0, { fileId: 'one' })).expect(201);
  target.clock.advance(86_401_000);
  const held = await holdFiles();
  try {
    const chunk = uploadChunk(key, files, whole, 1, ofUpload);
    await until(async () => (await held.waiting()) === 1);
    const sweep = features.jobs.run('files.sweep');
    await until(async () => (await held.waiting()) === 2);
    await held.release();
    (await chunk).expect(201);
    await sweep;
  } finally {
    await held.end();
  }
  (await uploadChunk(key, files, whole, 2, ofUpload)).expect(201);
  assert.ok((await bytesOf(files, 'one')).equals(whole));
  await nothingStays(files);
});
