// A planted mistake is undone by the recipes of docs/point-in-time.md: pgBackRest for Postgres, Litestream for SQLite.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUnderTest } from '../harness/appliance.js';
import { type Installation, install, type Server } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { after } from '../harness/runner.js';
import { lacks, run } from './world.js';

const litestream = process.env.SVC_TEST_LITESTREAM ?? 'litestream';
const skipSqlite =
  databaseUnderTest === 'sqlite' ? lacks(litestream, ['version'], 'litestream') : 'Litestream is for SQLite';
const skipPostgres =
  databaseUnderTest !== 'postgres'
    ? 'pgBackRest is for Postgres'
    : process.getuid?.() === 0
      ? lacks('pgbackrest', ['version'], 'pgbackrest') ||
        lacks('runuser', ['-u', 'postgres', 'initdb', '--', '--version'], 'Postgres of Debian')
      : 'not root';

/** Users before the mistake, which deletes the second one. */
const emails = ['ada@example.com', 'grace@example.com'];
const password = 'a fine password';

async function createUsers(place: Installation): Promise<void> {
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  for (const email of emails)
    await place.json(['user', 'create', '--project', 'shop', '--email', email, '--password-stdin'], password);
}

/** The time before the mistake, with a second on both sides. */
async function mistakeAfter(place: Installation): Promise<string> {
  await sleep(1500);
  const time = new Date().toISOString();
  await sleep(1500);
  await place.json(['user', 'delete', emails[1] as string, '--project', 'shop', '--yes']);
  return time;
}

async function requireUndone(place: Installation): Promise<void> {
  const { users } = await place.json<{ users: { email: string }[] }>(['user', 'list', '--project', 'shop']);
  assert.deepEqual(users.map(({ email }) => email).sort(), emails);
  await place.json(['audit', 'verify']);
  const server = await place.serve();
  const login = await fetch(`${server.url}/account/sessions/email`, {
    method: 'POST',
    headers: { 'X-Appwrite-Project': 'shop', 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: emails[1], password }),
  });
  assert.equal(login.status, 201, await login.text());
  await stop(server);
}

async function stop(server: Server): Promise<void> {
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
}

test('Litestream restores SQLite to the second before a mistake', { skip: skipSqlite }, async () => {
  const place = await install();
  after(() => place.dispose());
  const server = await place.serve();
  const database = join(place.dir, 'data/svc.db');
  const config = join(place.dir, 'litestream.yml');
  writeFileSync(config, JSON.stringify({ dbs: [{ path: database, replica: { path: join(place.dir, 'replica') } }] }));
  const replication = run(litestream, ['replicate', '-config', config, '-exec', 'sleep 15']);
  await createUsers(place);
  const time = await mistakeAfter(place);
  await stop(server);
  const { code, printed } = await replication;
  assert.equal(code, 0, printed);
  mkdirSync(join(place.dir, 'moved'));
  for (const end of ['', '-wal', '-shm'])
    try {
      renameSync(`${database}${end}`, join(place.dir, `moved/svc.db${end}`));
    } catch {
      assert.notEqual(end, '');
    }
  const restored = await run(litestream, ['restore', '-config', config, '-timestamp', time, database]);
  assert.equal(restored.code, 0, restored.printed);
  chmodSync(database, 0o600);
  await requireUndone(place);
});

test('pgBackRest restores Postgres to the second before a mistake', { skip: skipPostgres }, async () => {
  const cluster = await startCluster();
  const place = await install({ postgres: cluster.url });
  after(() => place.dispose());
  cluster.backrest('backup');
  const server = await place.serve();
  await createUsers(place);
  const time = await mistakeAfter(place);
  cluster.sql('select pg_switch_wal()');
  await stop(server);
  cluster.stop();
  const target = time.replace('T', ' ').replace('Z', '+00');
  cluster.backrest('--delta', '--type=time', `--target=${target}`, '--target-action=promote', 'restore');
  cluster.start();
  // Until then, Postgres answers reads from a state before the time.
  while (!cluster.sql('select pg_is_in_recovery()').includes('f')) await sleep(200);
  await requireUndone(place);
});

/** Starts a cluster of the Postgres of Debian that archives its log with pgBackRest, until the end of the test file. */
async function startCluster() {
  const home = mkdtempSync(join(tmpdir(), 'svc-pitr-'));
  const port = await freePort();
  const data = join(home, 'data');
  const config = join(home, 'pgbackrest.conf');
  const as = (program: string, ...args: string[]) =>
    execFileSync('runuser', ['-u', 'postgres', '--', program, ...args], { cwd: home, encoding: 'utf8', stdio: 'pipe' });
  execFileSync('chown', ['postgres', home]);
  mkdirSync(join(home, 'repo'));
  execFileSync('chown', ['postgres', join(home, 'repo')]);
  const global = [
    `repo1-path=${home}/repo`,
    'repo1-retention-full=2',
    'start-fast=y',
    `log-path=${home}`,
    `lock-path=${home}`,
  ];
  const stanza = [`pg1-path=${data}`, `pg1-port=${port}`, `pg1-socket-path=${home}`];
  writeFileSync(config, ['[global]', ...global, '[svc]', ...stanza, ''].join('\n'));
  const archive = `pgbackrest --config=${config} --stanza=svc archive-push %p`;
  as('initdb', '--pgdata', data, '--auth', 'trust');
  const settings = {
    port: String(port),
    listen_addresses: "'127.0.0.1'",
    unix_socket_directories: `'${home}'`,
    archive_mode: 'on',
    archive_command: `'${archive}'`,
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}\n`);
  writeFileSync(join(data, 'postgresql.conf'), lines.join(''), { flag: 'a' });
  const start = () => as('pg_ctl', '--pgdata', data, '--log', join(home, 'postgres.log'), '--wait', 'start');
  const stop = () => as('pg_ctl', '--pgdata', data, '--mode', 'fast', '--wait', 'stop');
  const backrest = (...args: string[]) => as('pgbackrest', `--config=${config}`, '--stanza=svc', ...args);
  const sql = (text: string) => as('psql', '--host', home, '--port', String(port), '-Atc', text, 'postgres');
  after(() => {
    stop();
    rmSync(home, { recursive: true, force: true });
  });
  start();
  sql('create role svc login createdb');
  backrest('stanza-create');
  backrest('check');
  return { url: `postgres://svc@127.0.0.1:${port}/postgres`, backrest, start, stop, sql };
}
