// A command names what the database said, and what to do next; a script reads it from the type.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { failOver, lock, promote } from '../db/moods.js';
import { install, type Run } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const isSqlite = process.env.SVC_TEST_DATABASE !== 'postgres';
const place = await install();
after(() => place.dispose());
await place.json(['project', 'create', 'Shop', '--id', 'shop']);

const url = () => (isSqlite ? `sqlite:${join(place.dir, 'data/svc.db')}` : (place.env.SVC_DATABASE_URL ?? ''));
const otherUrl = (change: (url: URL) => void): string => {
  const given = new URL(url());
  change(given);
  return given.href;
};
const create = (env: Record<string, string> = {}) =>
  place.svc(['project', 'create', 'Other', '--id', `p${randomUUID().slice(0, 8)}`, '--json'], { env });
const list = (env: Record<string, string> = {}) => place.svc(['project', 'list', '--json'], { env });

function says({ code, err }: Run, exit: number, type: string, word: RegExp): void {
  const { error } = JSON.parse(err.trim().split('\n').at(-1) ?? '') as {
    error: { type: string; message: string; fix: string };
  };
  assert.deepEqual([code, error.type], [exit, type], err);
  assert.match(error.message, word);
  assert.ok(error.fix.length > 10, error.fix);
  assert.doesNotMatch(err, /insert into|password '/i);
}

/** Entries wait that nobody can seal now: the log is read without them, and the command says so. */
async function readsTheLog(): Promise<void> {
  const commands = ['list', 'tail --no-follow', 'export'].map((words) => ['audit', ...words.split(' ')]);
  for (const { code, err } of await Promise.all(commands.map((args) => place.svc(args)))) {
    assert.equal(code, 0, err);
    assert.match(err, /takes no writes: entries that are not sealed yet are left out/);
  }
}

/** A command as a user who may read the file and not write it. */
function asStranger(
  args: readonly string[],
  { flags = ['--json'], env = place.env }: { flags?: readonly string[]; env?: Record<string, string> } = {},
): Promise<Run> {
  const child = spawn('svc', [...args, ...flags], { cwd: '/', env, uid: 65534, gid: 65534, stdio: 'pipe' });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    err += part;
  });
  child.stdin.end();
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, out, err }));
  });
}

test('SQLite: locked, damaged', { skip: !isSqlite && 'another database' }, async () => {
  const held = await lock(url());
  const started = performance.now();
  says(await create(), 6, 'database_busy', /another program holds a lock/);
  assert.ok(performance.now() - started < 20_000);
  // Whoever reads does not wait for the lock.
  assert.equal((await list()).code, 0);
  await readsTheLog();
  await held.release();
  assert.equal((await create()).code, 0);

  const damaged = join(place.dir, 'damaged.db');
  writeFileSync(damaged, 'This was no database, and is long enough to be looked at. '.repeat(100));
  says(await list({ SVC_DATABASE_URL: `sqlite:${damaged}` }), 7, 'database_damaged', /damaged/);
});

test('SQLite: a file that may not be written', {
  skip: (!isSqlite && 'another database') || (process.getuid?.() !== 0 && 'only root has another user to run as'),
}, async () => {
  for (const directory of [place.dir, join(place.dir, 'data')]) chmodSync(directory, 0o755);
  chmodSync(join(place.dir, 'data/svc.db'), 0o644);
  chmodSync(join(place.dir, 'svc.env'), 0o644);
  const run = await asStranger(['project', 'create', 'Other', '--config', join(place.dir, 'svc.env')]);
  assert.equal(run.code, 6, run.err);
  assert.match(run.err, /database_file_(read_only|unopened)/);
  assert.match(run.err, /owner of the file/);
});

test('SQLite: doctor and config check know that the file may not be written, and stderr is JSON alone', {
  skip: (!isSqlite && 'another database') || (process.getuid?.() !== 0 && 'only root has another user to run as'),
}, async () => {
  const own = await install();
  await own.json(['project', 'create', 'Shop', '--id', 'shop']);
  for (const path of [own.dir, join(own.dir, 'data'), join(own.dir, 'svc.env'), join(own.dir, 'data/svc.db')])
    chownSync(path, 65534, 65534);
  chmodSync(join(own.dir, 'data/svc.db'), 0o400);
  const config = ['--config', join(own.dir, 'svc.env')];
  const { env } = own;
  says(await asStranger(['config', 'check', ...config], { env }), 6, 'database_file_read_only', /cannot be written/);
  const refused = await asStranger(['project', 'create', 'Other', ...config], { env });
  assert.equal(JSON.parse(refused.err).error.type, 'database_file_read_only');
  const told = await asStranger(['project', 'create', 'Other', ...config], { flags: [], env });
  assert.match(told.err, /^error: The file of the database cannot be written \(SQLITE_READONLY\)\.\nnext: .*\n$/);
  const doctor = await asStranger(['doctor', ...config], { env });
  assert.equal(doctor.code, 1, doctor.out);
  assert.match(doctor.out, /"database_file_read_only"/);
  // A file of another user in a directory of one's own can be opened, but not written.
  chownSync(join(own.dir, 'data/svc.db'), 0, 0);
  chmodSync(join(own.dir, 'data/svc.db'), 0o644);
  says(await asStranger(['config', 'check', ...config], { env }), 6, 'database_file_read_only', /cannot be written/);
  const again = await asStranger(['doctor', ...config], { env });
  assert.match(again.out, /"database_file_read_only"/);
  await own.dispose();
});

test('Postgres: messages of the server that a newcomer meets', { skip: isSqlite && 'another database' }, async () => {
  const table: [string, string, RegExp][] = [
    [otherUrl((at) => (at.pathname = '/nowhere')), 'database_missing', /no such database/],
    [otherUrl((at) => (at.password = 'wrong')), 'database_login_refused', /user or the password/],
    [otherUrl((at) => (at.password = '')), 'database_login_refused', /user or the password/],
    [otherUrl((at) => (at.search = '?sslmode=require')), 'database_without_tls', /does not encrypt/],
    [otherUrl((at) => (at.port = '1')), 'database_unreachable', /listens/],
    [otherUrl((at) => (at.hostname = 'nowhere.invalid')), 'database_host_unknown', /name/],
  ];
  for (const [databaseUrl, type, word] of table)
    for (const run of [list, create]) {
      const ended = await run({ SVC_DATABASE_URL: databaseUrl });
      says(ended, 6, type, word);
      assert.equal(ended.err.trim().split('\n').length, 1, ended.err);
    }
  // A server that starts says the same, and does not wait for what will not come.
  const serve = await place.svc(['serve', '--json'], { env: { SVC_DATABASE_URL: table[0]?.[0] ?? '' } });
  says(serve, 6, 'database_missing', /no such database/);
});

test('Postgres: read-only, locked, full of connections', { skip: isSqlite && 'another database' }, async () => {
  const name = JSON.stringify(place.database);
  await failOver(url());
  says(await create(), 6, 'database_read_only', /read-only/);
  assert.equal((await list()).code, 0, 'a command that only reads runs');
  await readsTheLog();
  const server = await place.serve();
  assert.equal((await fetch(new URL('/readyz', server.url))).status, 200, 'a server starts, and serves readers');
  server.signal('SIGTERM');
  await server.ended;
  await promote(url());
  assert.equal((await create()).code, 0);

  const held = await lock(url(), 'projects');
  says(await create(), 6, 'database_busy', /another program holds a lock/);
  await held.release();

  await place.sql(`alter database ${name} connection limit 0`);
  says(await create(), 6, 'database_connections_exhausted', /too many connections/);
});
