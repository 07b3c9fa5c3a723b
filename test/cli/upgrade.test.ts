// Upgrades: the backup before a migration, steps of a newer version under a running server, and the newest version.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const isPostgres = process.env.SVC_TEST_DATABASE === 'postgres';

type Plan = { sql: string[]; steps: { step: string; locks: string[]; rows: number; seconds: number }[] };

async function shop() {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  return place;
}

test('a migration backs up first, the plan estimates it, and --no-backup skips the backup', async () => {
  const place = await shop();
  for (let step = 0; step < 2; step++)
    assert.equal((await place.svc(['migrate', 'down', '--confirm', place.database])).code, 0);
  const planned = await place.svc(['migrate', '--plan', '--json']);
  assert.equal(planned.code, 5);
  const { sql, steps } = JSON.parse(planned.out) as Plan;
  assert.ok(sql.length > 0 && steps.length === 2);
  assert.ok(steps.some(({ locks }) => locks.length > 0));
  assert.ok(steps.every(({ rows, seconds }) => rows >= 0 && seconds >= 0));
  const { backup } = await place.json<{ backup: string }>(['migrate']);
  assert.ok(existsSync(backup), backup);
  assert.equal((await place.json<{ ok: boolean }>(['backup', 'verify', backup])).ok, true);
  assert.deepEqual((await place.svc(['migrate', '--json'])).out.includes('"backup"'), false);
  await place.svc(['migrate', 'down', '--confirm', place.database]);
  const without = await place.json<{ changed: string[]; backup?: string }>(['migrate', '--no-backup']);
  assert.equal(without.backup, undefined);
  assert.equal(without.changed.length, 1);
  await place.svc(['migrate', 'down', '--confirm', place.database]);
  const server = await place.serve(['--migrate', 'auto']);
  assert.match(server.log(), /"schema\.backup".*svc backup restore/);
});

test('Postgres ends a migration whose process was killed', { skip: !isPostgres && 'another database' }, async () => {
  const place = await shop();
  await place.json(['migrate', 'down', '--confirm', place.database]);
  const blocker = new pg.Client({ connectionString: String(place.env.SVC_DATABASE_URL) });
  await blocker.connect();
  after(() => blocker.end());
  await blocker.query('begin; lock table projects in share mode');
  const waiting = async () => {
    const sql = "select 1 from pg_locks where relation = 'projects'::regclass and not granted";
    return (await blocker.query(sql)).rows.length > 0;
  };
  const until = async (expected: boolean) => {
    for (const end = Date.now() + 30_000; (await waiting()) !== expected; await sleep(100))
      assert.ok(Date.now() < end, expected ? 'the step does not wait' : 'the step still waits');
  };
  const child = spawn('svc', ['migrate', '--no-backup'], { cwd: place.dir, env: place.env, stdio: 'ignore' });
  await until(true);
  child.kill('SIGKILL');
  await until(false);
  await blocker.query('rollback');
  const { changed } = await place.json<{ changed: string[] }>(['migrate']);
  assert.equal(changed.length, 1);
});

test('a server obeys the marks of steps that a newer version applies under it', async () => {
  const place = await shop();
  const server = await place.serve();
  const ready = async () => {
    const answer = await fetch(new URL('/readyz', server.url));
    return { status: answer.status, text: await answer.text() };
  };
  const until = async (status: number) => {
    for (const end = Date.now() + 60_000; (await ready()).status !== status; await sleep(100))
      assert.ok(Date.now() < end, `/readyz did not become ${status}`);
    return ready();
  };
  const add = (name: string, from: string) =>
    place.sql(
      `insert into schema_migrations (name, applied_at, usable_from) values ('${name}', '2026-01-01', ${from})`,
    );
  await add('9001_usable', "'0.1.0'");
  await sleep(3000);
  assert.equal((await ready()).status, 200);
  const list = await place.svc(['project', 'list']);
  assert.equal(list.code, 0, list.err);
  await add('9002_later', "'99.0.0'");
  assert.match((await until(503)).text, /9002_later/);
  assert.match(server.log(), /schema\.moved/);
  assert.equal((await place.svc(['project', 'list'])).code, 7);
  assert.equal((await place.svc(['serve'])).code, 7);
  await place.sql("delete from schema_migrations where name = '9002_later'");
  await until(200);
  await add('9003_unmarked', 'null');
  assert.match((await until(503)).text, /9003_unmarked/);
  assert.equal((await place.svc(['migrate', 'down', '--confirm', place.database])).code, 7);
});

test('the newest version is asked for only if a URL is set, and a bad answer is an error', async () => {
  const place = await shop();
  assert.equal((await place.svc(['version', '--check'])).code, 7);
  let answer = '{"version":"99.1.0"}';
  const source = createServer((_, response) => void response.end(answer)).listen(0, '127.0.0.1');
  after(() => source.close());
  await new Promise((listening) => source.once('listening', listening));
  place.env.SVC_UPDATE_URL = `http://127.0.0.1:${(source.address() as AddressInfo).port}/latest`;
  place.env.SVC_WEBHOOK_ALLOW_INSECURE = 'true';
  const check = () => place.json<{ version: string; latest: string; newer: boolean }>(['version', '--check']);
  assert.deepEqual({ ...(await check()), version: '' }, { version: '', latest: '99.1.0', newer: true });
  answer = 'v0.0.1\n';
  assert.equal((await check()).newer, false);
  for (answer of ['<html>', '{"version":"new"}', 'x'.repeat(100_000)]) {
    const { code, err } = await place.svc(['version', '--check', '--json']);
    assert.deepEqual([code, JSON.parse(err).error.type], [6, 'update_unknown']);
  }
});
