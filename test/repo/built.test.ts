// What a checkout that is built says of itself, and what one says that is not.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { copyCheckout } from '../harness/checkout.js';
import { after } from '../harness/runner.js';

const copy = copyCheckout([
  ...['install.sh', 'package.json', 'tsconfig.json', 'esbuild.config.js', 'external-packages.js'],
  ...['src', 'bin', 'migrations', 'templates'],
]);
after(() => copy.dispose());

const run = (program: string, args: readonly string[], env: Record<string, string> = {}) =>
  spawnSync(program, args, { cwd: copy.dir, encoding: 'utf8', env: { ...process.env, ...env } });
const svc = () => run(process.execPath, ['bin/svc', 'version', '--json']);

test('a checkout that is not built, or lacks packages, names its installer; an archive is unpacked again', () => {
  const installer = join(copy.dir, 'install.sh');
  const { status, stderr } = svc();
  assert.deepEqual([status, stderr], [7, `svc is not built yet.\nnext: ${installer}\n`]);
  assert.equal(run(process.execPath, ['esbuild.config.js']).status, 0);
  assert.equal(JSON.parse(svc().stdout).commit, null, 'no repository');
  renameSync(join(copy.dir, 'node_modules'), join(copy.dir, 'gone'));
  const env = { SVC_DATABASE_URL: '' };
  const init = run(process.execPath, ['bin/svc', '--config', 'x.env', 'init', '--yes', '--data-dir', 'x'], env);
  assert.equal(init.status, 7, init.stderr);
  assert.match(init.stderr, /^error: Packages of svc are missing, .*\nnext: \S+\/install\.sh\n$/);
  renameSync(join(copy.dir, 'gone'), join(copy.dir, 'node_modules'));
  renameSync(join(copy.dir, 'dist'), join(copy.dir, 'away'));
  renameSync(join(copy.dir, 'install.sh'), join(copy.dir, 'installer'));
  assert.equal(svc().stderr, 'Files of svc are missing.\nnext: unpack the archive again\n');
});

test('version names the commit that was built, and none of changed files or without git', {
  skip: spawnSync('git', ['--version']).status !== 0 && 'no git',
}, () => {
  const git = (...args: string[]) => run('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args]);
  const built = (env: Record<string, string> = {}): string | null => {
    const { status, stderr } = run(process.execPath, ['esbuild.config.js'], env);
    assert.equal(status, 0, stderr);
    return JSON.parse(svc().stdout).commit;
  };
  writeFileSync(join(copy.dir, '.gitignore'), 'dist*\nnode_modules\naway\n');
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'all');
  const head = git('rev-parse', 'HEAD').stdout.trim();
  assert.match(head, /^[0-9a-f]{40}$/);
  assert.equal(built(), head);
  const { stdout } = run(process.execPath, ['bin/svc', 'version']);
  assert.match(stdout, new RegExp(`^svc \\S+ \\(Node\\.js \\S+, commit ${head}\\)\\n$`));
  const path = join(copy.dir, 'away/path');
  mkdirSync(path, { recursive: true });
  symlinkSync(process.execPath, join(path, 'node'));
  assert.equal(built({ PATH: path }), null, 'no git');
  writeFileSync(join(copy.dir, 'package.json'), `${readFileSync(join(copy.dir, 'package.json'), 'utf8')}\n`);
  assert.equal(built(), null, 'changes');
});
