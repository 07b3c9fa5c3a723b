// The Postgres of the tests: durable, crashable, and gone when its owner is gone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { root } from '../harness/checkout.js';
import { createDatabase, startPostgres } from '../harness/postgres.js';

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {
    // The connection is cut on purpose; the query in flight reports it.
  });
  await client.connect();
  return client;
}

test('a crash loses no committed row, a hang gives no answer', async () => {
  const postgres = await startPostgres();
  try {
    const url = await createDatabase(postgres.url, 'crash-test');
    const before = await connect(url);
    const { rows } = await before.query(
      `select current_setting('fsync') || current_setting('synchronous_commit') || current_setting('full_page_writes') as durable,
        (select rolsuper from pg_roles where rolname = current_user) as super`,
    );
    assert.deepEqual(rows, [{ durable: 'ononon', super: false }]);
    await before.query('create table kept (n integer)');
    await before.query('insert into kept values (1)');

    postgres.pause();
    const answer = before.query('select 1').then(() => 'answered');
    assert.equal(await Promise.race([answer, sleep(200, 'silence')]), 'silence');
    postgres.resume();
    assert.equal(await answer, 'answered');

    await postgres.stopHard();
    assert.equal(postgres.pid(), undefined);
    await assert.rejects(connect(url));
    await postgres.start();
    const after = await connect(url);
    assert.deepEqual((await after.query('select n from kept')).rows, [{ n: 1 }]);
    await after.end();
  } finally {
    await postgres.stop();
  }
});

test('the server and its files go when the owner is killed', async (t) => {
  const tmp = mkdtempSync(join(tmpdir(), 'svc-harness-'));
  t.after(() => rmSync(tmp, { recursive: true, force: true }));
  chmodSync(tmp, 0o755);
  const script = `
    import { startPostgres } from './test/harness/postgres.js';
    const { url } = await startPostgres();
    process.stdout.write(url);
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], {
    cwd: root,
    env: { ...process.env, TMPDIR: tmp },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = await once(owner.stdout.setEncoding('utf8'), 'data');
  await (await connect(url)).end();
  const ours = () => readdirSync(tmp).filter((name) => name.startsWith('svc-postgres-'));
  assert.equal(ours().length, 1);
  owner.kill('SIGKILL');
  for (let tries = 0; ours().length > 0 && tries < 100; tries++) await sleep(100);
  assert.deepEqual(ours(), []);
  await assert.rejects(connect(url));
});
