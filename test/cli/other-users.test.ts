// Commands and servers among files of other users: what they may not look at is told in words, with what mends it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';

const isSqlite = process.env.SVC_TEST_DATABASE !== 'postgres';
const canBeAnother = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0;
const needsAnother = !canBeAnother && 'needs root and setpriv';
const other = 65534;
const [, group = String(other)] =
  new RegExp(`^([^:]+):[^:]*:${other}:`, 'm').exec(readFileSync('/etc/group', 'utf8')) ?? [];
const [, user = String(other)] =
  new RegExp(`^([^:]+):[^:]*:${other}:`, 'm').exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
const key = { SVC_MASTER_KEY: Buffer.alloc(32, 7).toString('base64url') };

/** An installation in whose directory `closed`, which only root may search, another user runs commands. */
async function shared(t: TestContext, options?: { init?: boolean }) {
  const place = await install(options);
  t.after(() => place.dispose());
  chmodSync(place.dir, 0o755);
  mkdirSync(join(place.dir, 'closed'), { mode: 0o700 });
  const run = (command: string, inside = '.') =>
    place.shell(`cd ${inside} && exec setpriv --reuid=${other} --regid=${other} --clear-groups ${command}`);
  return { ...place, run };
}

/** Hands the database and the settings to the other user. */
function handOver(dir: string): void {
  for (const path of ['data', 'svc.env', ...(isSqlite ? ['data/svc.db'] : [])])
    chownSync(join(dir, path), other, other);
}

test('a current directory that may not be searched has no settings', { skip: needsAnother }, async (t) => {
  const { run } = await shared(t, { init: false });
  const none = await run('svc project list', 'closed');
  assert.equal(none.code, 7, none.err);
  assert.match(none.err, /There is no installation here/);
  const fromEnvironment = await run(`env SVC_MASTER_KEY=${key.SVC_MASTER_KEY} svc config show`, 'closed');
  assert.equal(fromEnvironment.code, 0, fromEnvironment.err);
});

test('reports files without read permission as such', { skip: needsAnother }, async (t) => {
  const { dir, json, run } = await shared(t);
  await json(['project', 'create', 'Shop', '--id', 'shop']);
  await json(['database', 'create', 'Blog', '--id', 'blog', '--project', 'shop']);
  await json(['collection', 'create', 'Posts', '--id', 'posts', '--project', 'shop', '--database', 'blog']);
  const backup = join(dir, 'whole.svcbackup');
  await json(['backup', 'create', backup]);
  chmodSync(backup, 0o600);
  chownSync(backup, 0, 0);
  handOver(dir);
  const from = '--project shop --database blog --collection posts';
  const whole = await run(`svc --config ${dir}/svc.env document export x.ndjson ${from}`, 'closed');
  assert.equal(whole.code, 1, whole.err);
  assert.match(whole.err, /x\.ndjson cannot be written: this user may not write there \(EACCES\)/);
  const verified = await run(`svc --config ${dir}/svc.env audit verify --file x.ndjson`, 'closed');
  assert.equal(verified.code, 3, verified.err);
  assert.match(verified.err, /x\.ndjson cannot be read/);
  const unread = await run(`svc backup verify ${backup}`);
  assert.match(unread.err, /this user may not read it \(EACCES\)/);
});

test('a server that may not read its settings is not advised to run as root, nor started for ever', {
  skip: needsAnother,
}, async (t) => {
  const { dir, run } = await shared(t, { init: false });
  const file = join(dir, 'svc.env');
  writeFileSync(file, 'SVC_PORT=0\n', { mode: 0o600 });
  const { code, err } = await run(`svc serve`);
  assert.equal(
    err,
    `error: The configuration file ${file} cannot be read by this user: it belongs to root.\nnext: as root: chown root:${group} ${file} && chmod 0640 ${file}\n`,
  );
  const unit = readFileSync(join(root, 'templates/systemd/svc.service'), 'utf8');
  const ends = /^RestartPreventExitStatus=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? [];
  assert.ok(ends.includes(String(code)), `the unit starts a server again that ended with ${code}`);
  const said = /The unit does not restart the server after exit codes (.*)\./.exec(
    readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8'),
  );
  assert.deepEqual(said?.[1]?.split(/, | and /), ends);
  // The advice is enough.
  chownSync(file, 0, other);
  chmodSync(file, 0o640);
  assert.match((await run('svc serve')).err, /SVC_MASTER_KEY is set neither/);
});

test('reports a database of another user with its file, both users and the remedy', {
  skip: needsAnother || (!isSqlite && 'about the file of SQLite'),
}, async (t) => {
  const { dir, json, run } = await shared(t);
  await json(['project', 'create', 'Shop', '--id', 'shop']);
  handOver(dir);
  const file = join(dir, 'data/svc.db');
  chownSync(file, 0, 0);
  for (const mode of [0o600, 0o644]) {
    chmodSync(file, mode);
    for (const command of [
      'svc serve',
      'svc project create Other',
      'svc migrate',
      'svc doctor --offline',
      'svc config check',
    ]) {
      // These go on where a file can only be read and nothing has to be written.
      if (mode === 0o644 && ['svc serve', 'svc migrate'].includes(command)) continue;
      const { code, out, err } = await run(command);
      const said = `${mode.toString(8)} ${command}: ${out}${err}`;
      assert.equal(code, command.startsWith('svc doctor') ? 1 : 6, said);
      assert.ok(said.includes(`${file} belongs to root, and this user is ${user}`), said);
      assert.ok(said.includes(`as root: chown ${user}:${group} ${file}`), said);
    }
  }
  chownSync(file, other, other);
  assert.equal((await run('svc project list')).code, 0);
});

test('root does not obey settings that another user could have put into the current directory', {
  skip: process.getuid?.() !== 0 && 'needs root',
}, async (t) => {
  const { dir, env, shell, dispose } = await install();
  t.after(dispose);
  const file = join(dir, 'svc.env');
  const run = (more = '') => shell(`cd ${dir} && exec env ${more} svc project list`);
  const reset = () => {
    chownSync(file, 0, 0);
    chownSync(dir, 0, 0);
    chmodSync(file, 0o600);
    chmodSync(dir, 0o700);
  };
  assert.equal(env.SVC_CONFIG, undefined);
  assert.equal((await run()).code, 0);
  const foreign: readonly (readonly [() => void, RegExp])[] = [
    [() => chownSync(file, other, other), /svc\.env belongs to/],
    [() => chmodSync(file, 0o646), /other users may write to .*svc\.env/],
    [() => chownSync(dir, other, other), /belongs to/],
    [() => chmodSync(dir, 0o777), /other users may write to/],
  ];
  for (const [hand, why] of foreign) {
    hand();
    const { code, err } = await run();
    assert.equal(code, 4, err);
    assert.match(err, why);
    assert.ok(err.includes(`next: svc --config ${file} project list`), err);
    reset();
  }
  // A link counts like the file that it leads to, and belongs to the user who made it.
  const target = join(dir, 'target.env');
  renameSync(file, target);
  symlinkSync(target, file);
  assert.equal((await run()).code, 0);
  for (const linked of [() => chownSync(target, other, other), () => lchownSync(file, other, other)]) {
    linked();
    const { code, err } = await run();
    assert.equal(code, 4, err);
    assert.match(err, /(svc|target)\.env belongs to/);
    chownSync(target, 0, 0);
  }
  rmSync(file);
  renameSync(target, file);
  chownSync(file, other, other);
  assert.equal((await shell(`svc --config ${file} project list`)).code, 0);
  assert.equal((await run(`SVC_CONFIG=${file}`)).code, 0);
  // Other users remove only their own files from a directory like /tmp.
  chmodSync(dir, 0o1777);
  assert.equal((await run(`SUDO_UID=${other}`)).code, 0);
  reset();
  if (!isSqlite) return;
  const data = join(dir, 'data');
  chownSync(data, other, other);
  assert.equal((await run()).code, 0, 'the user of the service owns it');
  renameSync(join(data, 'svc.db'), join(dir, 'moved.db'));
  symlinkSync(join(dir, 'moved.db'), join(data, 'svc.db'));
  const linked = await run();
  assert.equal(linked.code, 4, linked.err);
  assert.match(linked.err, /is a symbolic link, which root does not follow/);
  chownSync(data, 0, 0);
  assert.equal((await run()).code, 0);
});
