// install.sh on this machine, in a copy of the checkout; `npm ci` is stood in for, because the copy shares the installed packages.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { copyCheckout } from '../harness/checkout.js';
import { after } from '../harness/runner.js';

const copy = copyCheckout([
  ...['install.sh', 'package.json', 'package-lock.json', 'tsconfig.json', 'esbuild.config.js', 'external-packages.js'],
  ...['src', 'bin', 'migrations', 'templates'],
]);
const scratch = mkdtempSync(join(tmpdir(), 'svc-install-'));
after(() => {
  copy.dispose();
  rmSync(scratch, { recursive: true, force: true });
});

const which = (name: string) => execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
const script = (path: string, text: string) => writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });

const npmCalls = join(scratch, 'npm-calls');
const headers = join(scratch, 'headers');
mkdirSync(join(headers, 'include/node'), { recursive: true });
writeFileSync(
  join(headers, 'include/node/node_version.h'),
  `#define NODE_MODULE_VERSION ${process.versions.modules}\n`,
);

/** A directory with what install.sh may find in PATH, except `without`. */
function tools(without: string[] = []): string {
  const path = mkdtempSync(join(scratch, 'path-'));
  const has = (name: string) => !without.includes(name);
  for (const name of [
    'sh',
    'bash',
    'dirname',
    'id',
    'cat',
    'grep',
    'find',
    'head',
    'touch',
    'rm',
    'mkdir',
    'ln',
    'sleep',
    'mktemp',
  ]) {
    symlinkSync(which(name), join(path, name));
  }
  if (has('node')) symlinkSync(process.execPath, join(path, 'node'));
  for (const name of ['c++', 'make', 'python3'].filter(has)) script(join(path, name), 'exit 0');
  const npm = `echo "$1 $npm_config_nodedir" >> '${npmCalls}'; [ "$1" != ci ] && exec '${which('npm')}' "$@"`;
  if (has('npm')) script(join(path, 'npm'), npm);
  return path;
}

function install(args: string[], path = tools(), shell = 'bash'): { code: number | null; out: string; err: string } {
  writeFileSync(npmCalls, '');
  const { status, stdout, stderr } = spawnSync(which(shell), [join(copy.dir, 'install.sh'), ...args], {
    cwd: scratch,
    encoding: 'utf8',
    env: { HOME: scratch, PATH: path, npm_config_nodedir: headers },
  });
  return { code: status, out: stdout, err: stderr };
}

const calls = () => readFileSync(npmCalls, 'utf8').trim().split('\n').filter(Boolean);

test('everything missing is named at once, with the packages that hold it', () => {
  const { code, err } = install([], tools(['c++', 'make', 'python3', 'npm']));
  assert.equal(code, 1);
  for (const what of ['- npm', '- a C++ compiler', '- make', '- Python 3']) assert.ok(err.includes(what), err);
  assert.match(err, /apt-get install -y npm g\+\+ make python3\n/);
  assert.match(err, /dnf install -y nodejs-npm gcc-c\+\+ make python3\n/);
  assert.match(err, /apk add npm g\+\+ make python3\n/);
  assert.match(err, /xcode-select --install\n.*brew install node python3\n/);

  const one = install([], tools(['make']));
  assert.equal(one.code, 1);
  assert.match(one.err, /apt-get install -y make\n/);
  assert.doesNotMatch(one.err, /python3|g\+\+|brew/);
  assert.deepEqual(calls(), []);
});

test('sh hands it on to bash', (t) => {
  if (spawnSync('dash', ['-c', ':']).status !== 0) return t.skip('sh is bash on this machine');
  assert.match(install(['--help'], tools(), 'dash').out, /^Usage: install\.sh/);
  assert.equal(install(['--nonsense'], tools(), 'dash').code, 2);
});

test('a missing or old Node.js is named', () => {
  assert.match(install([], tools(['node'])).err, /Node\.js 20\.19 or newer \(no `node` in PATH\)/);
  const old = tools(['node']);
  script(join(old, 'node'), '[ "$1" = --version ] && echo v20.18.3; exit 1');
  const { code, err } = install([], old);
  assert.equal(code, 1);
  assert.match(err, /20\.19 or newer \(this is v20\.18\.3\)/);
});

test('the first run builds and links, the second finds nothing to do', () => {
  const prefix = join(scratch, 'prefix');
  const first = install(['--prefix', prefix]);
  assert.equal(first.code, 0, first.err);
  assert.deepEqual(
    calls().filter((call) => !call.startsWith('config')),
    [`run ${headers}`],
  );
  assert.equal(readlinkSync(join(prefix, 'bin/svc')), join(copy.dir, 'bin/svc'));
  assert.equal(spawnSync(join(prefix, 'bin/svc'), ['--version']).status, 0);

  const built = statSync(join(copy.dir, 'dist/main.js')).mtimeMs;
  const second = install([`--prefix=${prefix}`]);
  assert.equal(second.code, 0, second.err);
  assert.doesNotMatch(second.err, /Installing|Building|Linked/);
  assert.match(second.err, /next: svc init\n(?: .*\n|When .*\n)+$/);
  writeFileSync(join(scratch, 'svc.env'), '');
  assert.match(install([`--prefix=${prefix}`]).err, /next: svc migrate\n$/);
  rmSync(join(scratch, 'svc.env'));
  assert.equal(install(['--no-link']).code, 0);
  assert.equal(statSync(join(copy.dir, 'dist/main.js')).mtimeMs, built);
});

test('the command goes on working during a rebuild', async () => {
  const building = spawn(process.execPath, ['esbuild.config.js'], { cwd: copy.dir, stdio: 'ignore' });
  const ended = once(building, 'exit');
  const codes: (number | null)[] = [];
  while (building.exitCode === null) {
    const svc = spawn(process.execPath, ['bin/svc', 'version'], { cwd: copy.dir, stdio: 'ignore' });
    codes.push((await once(svc, 'exit'))[0]);
  }
  assert.deepEqual((await ended)[0], 0);
  assert.ok(codes.length > 1);
  assert.deepEqual([...new Set(codes)], [0]);
  assert.deepEqual(
    readdirSync(copy.dir).filter((name) => name.startsWith('dist')),
    ['dist'],
  );
});

test('packages that differ from the lockfile are installed again, and a failure is reported', () => {
  const lockfile = join(copy.dir, 'package-lock.json');
  const text = readFileSync(lockfile, 'utf8');
  const lock = JSON.parse(text);
  lock.packages['node_modules/knex'].version = '0.0.0';
  writeFileSync(lockfile, JSON.stringify(lock));
  const { code, err } = install(['--no-link']);
  writeFileSync(lockfile, text);
  assert.equal(code, 1);
  assert.ok(calls().includes(`ci ${headers}`));
  assert.match(err, /npm ci failed/);
});

test('it names what is compiled and the time, and installs packages for development on request only', () => {
  const modules = join(copy.dir, 'node_modules');
  renameSync(modules, `${modules}.kept`);
  const compiling = tools(['npm']);
  const lines = ['[ "$1" = ci ] || exit 0', 'echo "$*" >&2', 'mkdir -p node_modules/sqlite3/build'];
  script(
    join(compiling, 'npm'),
    [...lines, 'sleep 1.5', 'echo > node_modules/sqlite3/build/Makefile', 'sleep 2'].join('\n'),
  );
  const { err } = install(['--no-link'], compiling);
  assert.match(err, /ci --include=optional --omit=dev .*\n {2}compiling sqlite3\n {2}npm ci took \d+ s\n/);
  assert.match(install(['--no-link', '--dev'], compiling).err, /ci --include=optional --include=dev /);
  rmSync(modules, { recursive: true, force: true });
  renameSync(`${modules}.kept`, modules);
});

test('--system is for root, and alone', () => {
  for (const other of ['--serve', '--no-link', '--prefix=/tmp'])
    assert.match(install(['--system', other]).err, /--system cannot be combined/);
  const user = tools(['id']);
  rmSync(join(user, 'id'));
  script(join(user, 'id'), 'echo 1000');
  assert.match(install(['--system'], user).err, /must be run as root/);
});

test('a foreign link stays; a dangling link is replaced', () => {
  const bin = join(scratch, 'taken/bin');
  const command = join(bin, 'svc');
  mkdirSync(bin, { recursive: true });
  writeFileSync(command, 'another program');
  const refused = install(['--prefix', join(scratch, 'taken')]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /exists and is not a link to this checkout.*\n.*--no-link/);
  assert.equal(readFileSync(command, 'utf8'), 'another program');

  rmSync(command);
  symlinkSync(npmCalls, command);
  assert.equal(install(['--prefix', join(scratch, 'taken')]).code, 1);
  assert.equal(readlinkSync(command), npmCalls);

  rmSync(command);
  symlinkSync(join(scratch, 'moved/bin/svc'), command);
  assert.equal(install(['--prefix', join(scratch, 'taken')]).code, 0);
  assert.equal(readlinkSync(command), join(copy.dir, 'bin/svc'));
});

test('help and wrong usage', () => {
  const help = install(['--help']);
  assert.equal(help.code, 0);
  assert.match(help.out, /^Usage: install\.sh/);
  assert.equal(install(['--prefx', '/tmp']).code, 2);
  assert.equal(install(['--prefix']).code, 2);
});
