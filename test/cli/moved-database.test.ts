// The file of an SQLite database was moved away, and its log lies where it was: no command makes a new file, with which SQLite would delete the log.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';

const skip = process.env.SVC_TEST_DATABASE === 'postgres' && 'about the file of SQLite';

/** An installation whose server runs, with a write that only the log holds. */
async function written(t: TestContext) {
  const place = await install();
  t.after(() => place.dispose());
  const server = await place.serve();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const file = join(place.dir, 'data/svc.db');
  assert.ok(existsSync(`${file}-wal`));
  return { place, server, file, away: join(place.dir, 'away.db') };
}

const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Every command that opens the database, each with the exit code that it ends with. */
const commands: readonly (readonly [args: readonly string[], exitCode: number])[] = [
  [['init', '--yes'], 7],
  [['--config', 'other.env', 'init', '--yes'], 7],
  [['migrate'], 7],
  [['migrate', '--plan'], 7],
  [['migrate', 'status'], 7],
  [['migrate', 'down', '--confirm', 'svc.db'], 7],
  [['serve'], 7],
  [['serve', '--migrate', 'auto'], 7],
  [['serve', '--migrate', 'off'], 7],
  [['project', 'list'], 7],
  [['ids', 'project'], 7],
  [['config', 'check'], 7],
  [['doctor', '--offline'], 1],
];

async function allRefuse(place: Installation, file: string): Promise<void> {
  for (const [args, exitCode] of commands) {
    const { code, out, err } = await place.svc(args);
    const said = `${args.join(' ')}: ${out}${err}`;
    assert.equal(code, exitCode, said);
    assert.match(said, /its log .*is there and holds the newest writes/, said);
    assert.match(
      said,
      /back as it was; otherwise move .+ away without deleting it, and run svc( --config \S+)? backup restore FILE/,
      said,
    );
    assert.doesNotMatch(said, /svc init|svc migrate\n/, said);
    assert.equal(existsSync(file), false, said);
  }
  assert.equal(existsSync(join(place.dir, 'other.env')), false);
}

test('no command creates a database beside an existing log, nor changes it while the server runs', {
  skip,
}, async (t) => {
  const { place, server, file, away } = await written(t);
  renameSync(file, away);
  const [before, files] = [digest(`${file}-wal`), readdirSync(join(place.dir, 'data'))];
  await allRefuse(place, file);
  assert.equal(digest(`${file}-wal`), before);
  assert.deepEqual(readdirSync(join(place.dir, 'data')), files);
  renameSync(away, file);
  assert.deepEqual(
    (await place.json<{ projects: { $id: string }[] }>(['project', 'list'])).projects.map(({ $id }) => $id),
    ['shop'],
  );
  await place.json(['project', 'create', 'Later', '--id', 'later']);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});

test('nor when the server has ended; the file and its log together have every write', { skip }, async (t) => {
  const { place, server, file, away } = await written(t);
  server.signal('SIGKILL');
  await server.ended;
  renameSync(file, away);
  const before = digest(`${file}-wal`);
  await allRefuse(place, file);
  // What lies beside it is enough, whichever it is.
  renameSync(`${file}-wal`, `${away}-wal`);
  await allRefuse(place, file);
  renameSync(`${file}-shm`, `${file}-journal`);
  await allRefuse(place, file);
  rmSync(`${file}-journal`);
  renameSync(away, file);
  renameSync(`${away}-wal`, `${file}-wal`);
  assert.equal(digest(`${file}-wal`), before);
  assert.equal((await place.json<{ projects: unknown[] }>(['project', 'list'])).projects.length, 1);
});

test('nor if an empty file or a dangling link is in its place', { skip }, async (t) => {
  const { place, server, file, away } = await written(t);
  server.signal('SIGKILL');
  await server.ended;
  renameSync(file, away);
  const before = digest(`${file}-wal`);
  writeFileSync(file, '');
  for (const args of [['init', '--yes'], ['migrate'], ['serve'], ['serve', '--migrate', 'auto']]) {
    const { code, err } = await place.svc(args);
    assert.equal(code, 7, err);
    assert.match(err, /holds the newest writes/);
  }
  assert.equal(digest(`${file}-wal`), before);
  rmSync(file);
  const link = join(place.dir, 'link.db');
  symlinkSync(file, link);
  const linked = await place.svc(['migrate'], { env: { SVC_DATABASE_URL: `sqlite:${link}` } });
  assert.equal(linked.code, 7, linked.err);
  assert.equal(existsSync(file), false);
  assert.equal(digest(`${file}-wal`), before);
});

test('when the log was moved away as well, a new database is made', { skip }, async (t) => {
  const { place, server, file, away } = await written(t);
  server.signal('SIGKILL');
  await server.ended;
  for (const suffix of ['', '-wal', '-shm']) renameSync(`${file}${suffix}`, `${away}${suffix}`);
  assert.match((await place.svc(['serve'])).err, /or make a new database with svc init/);
  await place.json(['init', '--yes']);
  assert.equal((await place.json<{ projects: unknown[] }>(['project', 'list'])).projects.length, 0);
  const old = { SVC_DATABASE_URL: `sqlite:${away}` };
  assert.match((await place.svc(['project', 'list'], { env: old })).out, /shop/);
});
