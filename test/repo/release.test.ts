// The archive of a release, unpacked where there is nothing but Node.js: no compiler, no npm, no shell; and a user signs up.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { extract } from 'tar';
import { root } from '../harness/checkout.js';
import { after } from '../harness/runner.js';

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'svc-release-')));
const servers: ChildProcess[] = [];
after(async () => {
  for (const server of servers) server.kill('SIGKILL');
  await Promise.all(servers.map((server) => server.exitCode ?? once(server, 'close')));
  rmSync(scratch, { recursive: true, force: true });
});

/** A machine with nothing on it but Node.js: where the archive is unpacked, and how `./svc` is run there. */
type Bare = { readonly dir: string; readonly command: (args: readonly string[]) => [string, readonly string[]] };

/** A directory tree of its own, with Node.js and the libraries it is linked with; only root may enter it. */
function rootDirectory(): Bare | undefined {
  const libraries = spawnSync('ldd', [process.execPath], { encoding: 'utf8' });
  if (process.getuid?.() !== 0 || libraries.status !== 0 || spawnSync('chroot', ['--version']).status !== 0) return;
  const tree = join(scratch, 'root');
  const files = [...libraries.stdout.matchAll(/(\/\S+) \(0x/g)].map(([, file = '']) => file);
  for (const file of [...files, process.execPath]) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    cpSync(file, join(tree, file), { dereference: true });
  }
  mkdirSync(join(tree, 'srv/svc'), { recursive: true });
  return {
    dir: join(tree, 'srv/svc'),
    // As `chroot` itself finds it; within, there is no PATH to look in.
    command: (args) => [
      execFileSync('sh', ['-c', 'command -v chroot'], { encoding: 'utf8' }).trim(),
      [tree, process.execPath, '-e', enter, ...args],
    ],
  };
}

/** What a shell does for `cd /srv/svc && ./svc …`, where there is none. */
const enter = "process.chdir('/srv/svc'); process.argv.splice(1, 0, '/srv/svc/svc'); require('/srv/svc/svc')";

/** A directory of this machine, with Node.js alone in PATH. */
function emptyPath(): Bare {
  const dir = join(scratch, 'svc');
  mkdirSync(join(scratch, 'path'));
  mkdirSync(dir);
  symlinkSync(process.execPath, join(scratch, 'path/node'));
  return { dir, command: (args) => [join(dir, 'svc'), args] };
}

const packed = execFileSync(process.execPath, ['release.js', join(scratch, 'release')], {
  cwd: root,
  encoding: 'utf8',
});
const archive = packed.trim();
const environment = { HOME: '/', PATH: join(scratch, 'path'), SVC_PORT: '0' };

test('the checksums are right, and the list of packages matches the content of the archive', () => {
  const release = dirname(archive);
  const listed = readFileSync(join(release, 'SHA256SUMS'), 'utf8').trim().split('\n');
  const debian = spawnSync('dpkg-deb', ['--version']).status === 0;
  assert.equal(listed.length, debian ? 3 : 2);
  for (const line of listed) {
    const [checksum, file = ''] = line.split('  ');
    assert.equal(
      createHash('sha256')
        .update(readFileSync(join(release, file)))
        .digest('hex'),
      checksum,
    );
  }
  const sbom = JSON.parse(readFileSync(archive.replace(/\.tar\.gz$/, '.cdx.json'), 'utf8'));
  const names = sbom.components.map(({ name }: { name: string }) => name);
  assert.equal(sbom.bomFormat, 'CycloneDX');
  assert.equal(sbom.metadata.component.name, 'svc');
  for (const name of ['koa', 'sqlite3', 'pg', 'zod']) assert.ok(names.includes(name), name);
  for (const name of ['typescript', 'prebuild-install', 'node-gyp']) assert.ok(!names.includes(name), name);
});

for (const [title, prepare] of [
  ['in a root directory with Node.js and nothing else', rootDirectory],
  ['with nothing in PATH but Node.js', emptyPath],
] as const) {
  test(`unpacked ${title}, it sets up, serves and signs a user up`, async (t) => {
    const bare = prepare();
    if (bare === undefined) return t.skip('needs root, chroot and ldd');
    await extract({ file: archive, cwd: bare.dir, strip: 1 });
    const packages = readdirSync(join(bare.dir, 'node_modules'));
    assert.ok(!packages.includes('esbuild') && !packages.includes('koa'), 'neither tools nor what is bundled');
    const [asked, versionArgs] = bare.command(['version', '--json']);
    const said = spawnSync(asked, versionArgs, { cwd: bare.dir, env: environment, encoding: 'utf8' });
    const { archive: named, commit } = JSON.parse(said.stdout);
    assert.equal(named, basename(archive, '.tar.gz'));
    assert.equal(commit, JSON.parse(readFileSync(join(root, 'dist/build.json'), 'utf8')).commit);

    const [program, args] = bare.command(['init', '--yes', '--project', 'My app', '--json']);
    const init = spawnSync(program, args, { cwd: bare.dir, env: environment, encoding: 'utf8' });
    assert.equal(init.status, 0, init.stderr);
    const { project } = JSON.parse(init.stdout);

    const [serve, serveArgs] = bare.command(['serve', '--json']);
    const server = spawn(serve, serveArgs, { cwd: bare.dir, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    servers.push(server);
    let ready = '';
    for await (const part of server.stdout.setEncoding('utf8')) {
      ready += part;
      if (ready.includes('}')) break;
    }
    const response = await fetch(`${JSON.parse(ready).url}/account`, {
      method: 'POST',
      headers: { 'X-Service-Project': project.$id, 'Content-Type': 'application/json' },
      body: JSON.stringify({ userId: 'unique()', email: 'anna@example.com', password: 'tall-green-bicycle' }),
    });
    assert.equal(response.status, 201, await response.text());
  });
}

test('with its own Node.js, it runs where none is installed', {
  skip: Object.entries(process.config.variables).some(([key, on]) => key.startsWith('node_shared') && on === true)
    ? 'this Node.js needs libraries of this system'
    : false,
}, () => {
  const tree = join(scratch, 'with-node');
  const made = spawnSync(process.execPath, ['release.js', tree, '--tree', '--with-node'], {
    cwd: root,
    encoding: 'utf8',
  });
  assert.equal(made.status, 0, made.stderr);
  assert.match(readFileSync(join(tree, 'LICENSE-NODE'), 'utf8'), /Node\.js/);
  const path = join(scratch, 'no-node');
  mkdirSync(path);
  for (const name of ['sh', 'dirname', 'readlink'])
    symlinkSync(execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(), join(path, name));
  // By a link, as the command in /usr/bin is one.
  symlinkSync(join(tree, 'svc'), join(scratch, 'svc-link'));
  const said = spawnSync(join(scratch, 'svc-link'), ['version', '--json'], { env: { PATH: path }, encoding: 'utf8' });
  assert.match(JSON.parse(said.stdout).archive, /-node$/, said.stderr);
});
