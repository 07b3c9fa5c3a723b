// The Debian package in fresh roots of Debian 12 and 13: install, serve, back up, upgrade, remove, reinstall, purge. Needs root, debootstrap
// and Debian's mirror. The roots have no systemd, so the test runs the command of the unit as the unit's user.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyCheckout, root } from '../harness/checkout.js';
import { freePort } from '../harness/free-port.js';
import { after } from '../harness/runner.js';
import { lacks } from './world.js';

const skip =
  process.getuid?.() === 0
    ? lacks('debootstrap', ['--version'], 'debootstrap') || lacks('dpkg-deb', ['--version'], 'dpkg-deb')
    : 'not root';
// Not in memory, where files of devices are not allowed.
const scratch = skip ? '' : mkdtempSync('/var/tmp/svc-debian-');
const servers = new Set<ChildProcess>();
after(async () => {
  for (const server of servers) server.kill('SIGKILL');
  await Promise.all([...servers].map((server) => server.exitCode ?? once(server, 'close')));
  if (scratch) rmSync(scratch, { recursive: true, force: true });
});

/** A root of a release of Debian. */
class Machine {
  readonly dir: string;
  readonly port: number;

  constructor(dir: string, port: number) {
    this.dir = dir;
    this.port = port;
  }

  /** Runs a script in this root. */
  run(script: string, code = 0): string {
    const env = {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      DEBIAN_FRONTEND: 'noninteractive',
      LC_ALL: 'C',
      HOME: '/root',
    };
    const { status, stdout, stderr } = spawnSync('chroot', [this.dir, 'sh', '-ec', script], { env, encoding: 'utf8' });
    assert.equal(status, code, `${script}\n${stdout}${stderr}`);
    return stdout + stderr;
  }

  /** Runs `svc` as the service's user with --json. Returns the parsed output. */
  svc(command: string) {
    return JSON.parse(this.run(`runuser -u svc -- svc --json ${command} 2> /dev/null`));
  }

  path = (path: string) => join(this.dir, path);

  install = (file: string, before = '') =>
    this.run(`${before} apt-get install -q -y --no-install-recommends /root/${file}`);

  /** Runs the command of the unit. Resolves when the server is ready. */
  async serve(): Promise<() => Promise<void>> {
    const unit = readFileSync(this.path('usr/lib/systemd/system/svc.service'), 'utf8');
    const value = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? assert.fail(key);
    const settings = readFileSync(this.path(value('EnvironmentFile')), 'utf8').match(/^[A-Z_]+=.*$/gm) ?? [];
    const entry = this.run(`getent passwd ${value('User')}`).split(':');
    const script = `umask ${value('UMask')}; cd ${value('WorkingDirectory')}; exec ${value('ExecStart')}`;
    const server = spawn('chroot', [`--userspec=${entry[2]}:${entry[3]}`, '--groups=', this.dir, 'sh', '-ec', script], {
      env: Object.fromEntries(
        ['PATH=/usr/sbin:/usr/bin:/sbin:/bin', value('Environment'), ...settings].map((line) => line.split(/=(.*)/s)),
      ),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    servers.add(server);
    let log = '';
    server.stderr.on('data', (chunk) => (log += chunk));
    const ready = () =>
      fetch(`http://127.0.0.1:${this.port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await ready())) {
      assert.equal(server.exitCode, null, log);
      await sleep(200);
    }
    return async () => {
      server.kill();
      assert.deepEqual(await once(server, 'close'), [0, null], log);
      servers.delete(server);
    };
  }

  /** The status of a login of the user that the first steps of the package sign up. */
  async login(): Promise<number> {
    const { status } = await fetch(`http://127.0.0.1:${this.port}/v1/account/sessions/email`, {
      method: 'POST',
      headers: { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' },
      body: '{"email": "anna@example.com", "password": "tall-green-bicycle"}',
    });
    return status;
  }

  backups = (): string[] => readdirSync(this.path('var/lib/svc/backups')).filter((name) => name.endsWith('.tar'));
}

/** The package, and the same as a later version. */
function pack(options: readonly string[]): { first: string; next: string } {
  const release = join(scratch, `release${options.join('')}`);
  if (!existsSync(release)) execFileSync(process.execPath, ['release.js', release, ...options], { cwd: root });
  const first = readdirSync(release).find((name) => name.endsWith('.deb')) ?? assert.fail('no package');
  const [tree, next] = [join(scratch, 'next'), first.replace('svc_0', 'svc_99')];
  execFileSync('dpkg-deb', ['--raw-extract', join(release, first), tree]);
  const control = readFileSync(join(tree, 'DEBIAN/control'), 'utf8');
  writeFileSync(join(tree, 'DEBIAN/control'), control.replace('Version: 0', 'Version: 99'));
  execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', tree, join(release, next)]);
  rmSync(tree, { recursive: true });
  return { first: join(release, first), next: join(release, next) };
}

const mode = (path: string) => (statSync(path).mode & 0o7777).toString(8);

for (const [release, options] of [
  ['bookworm', ['--with-node']],
  ['trixie', []],
] as const) {
  test(`the package on Debian ${release}${options.length > 0 ? ', with its own Node.js' : ''}`, { skip }, async (t) => {
    const machine = new Machine(join(scratch, release), await freePort());
    const made = spawnSync('debootstrap', ['--variant=minbase', '--include=curl', release, machine.dir], {
      encoding: 'utf8',
    });
    if (made.status !== 0) return t.skip(`debootstrap failed: ${made.stdout.trim().split('\n').pop()}`);
    if (existsSync('/etc/resolv.conf'))
      cpSync('/etc/resolv.conf', machine.path('etc/resolv.conf'), { dereference: true });
    const { first, next } = pack(options);
    cpSync(first, machine.path('root/first.deb'));
    cpSync(next, machine.path('root/next.deb'));
    await walk(machine);
    if (options.length === 0) installSystem(machine);
    verifyUnit(machine);
  });
}

/** The life of an installation. */
async function walk(machine: Machine): Promise<void> {
  machine.run('apt-get update -q');
  const said = machine.install('first.deb');
  const steps = /^ {2}runuser .*\n {2}curl [\s\S]*?\}'$/m.exec(said)?.[0] ?? assert.fail(said);
  const settings = machine.path('etc/svc/svc.env');
  assert.equal(
    machine.run('stat -c "%U:%G %a" /etc/svc /etc/svc/svc.env /var/lib/svc /var/lib/svc/svc.db'),
    'root:root 755\nroot:svc 640\nsvc:svc 700\nsvc:svc 600\n',
  );
  assert.match(machine.run('getent passwd svc'), /:\/var\/lib\/svc:\/usr\/sbin\/nologin$/m);
  assert.ok(existsSync(machine.path('etc/systemd/system/multi-user.target.wants')), 'the unit is enabled');
  assert.equal(machine.run('dpkg --verify svc'), '');

  machine.run(`svc --config /etc/svc/svc.env config set SVC_PORT ${machine.port} --and SVC_RATE_LIMIT=off`);
  assert.equal(machine.run('stat -c "%U:%G %a" /etc/svc/svc.env'), 'root:svc 640\n');
  let stop = await machine.serve();
  assert.match(machine.run(steps.replace(/localhost:\d+/, `localhost:${machine.port}`)), /"email":"anna@example\.com"/);
  assert.equal(await machine.login(), 201);
  assert.equal(machine.svc('doctor').ok, true);
  await stop();

  // A nightly backup, and the first one now.
  machine.run(`svc --config /etc/svc/svc.env config set SVC_BACKUP_CRON '0 3 * * *'`);
  stop = await machine.serve();
  machine.run('runuser -u svc -- svc cron run backup.create');
  const [nightly] = machine.svc('backup list').backups;
  assert.ok(nightly.verifiedAt, JSON.stringify(nightly));
  assert.equal(machine.backups().length, 1);

  // An upgrade below a running server, because no systemd stops it here.
  assert.match(machine.install('next.deb'), /making a backup before the upgrade/);
  assert.equal(machine.backups().length, 2);
  assert.match(machine.run('dpkg-query -W svc'), /\t99\./);
  assert.ok(!existsSync(machine.path('run/svc-upgrade-backup')));
  await stop();
  stop = await machine.serve();
  assert.equal(await machine.login(), 201);
  await stop();

  machine.run('apt-get remove -q -y svc');
  assert.ok(!existsSync(machine.path('usr/lib/svc')));
  const kept = readFileSync(settings, 'utf8');
  machine.install('first.deb');
  assert.equal(readFileSync(settings, 'utf8'), kept);
  // Configured a second time, nothing changes.
  machine.run('dpkg-reconfigure svc');
  stop = await machine.serve();
  assert.equal(await machine.login(), 201);
  await stop();

  // Without a backup there is no upgrade, unless the administrator wants it.
  machine.run('svc --config /etc/svc/svc.env config set SVC_BACKUP_TO /nowhere/backups');
  assert.match(machine.run('dpkg -i /root/next.deb', 1), /the backup failed, so nothing was upgraded/);
  assert.match(machine.run('dpkg-query -W svc'), /\t0\./);
  machine.run('dpkg --audit | grep -q . && exit 1 || exit 0');
  machine.install('next.deb', 'NO_SVC_BACKUP=1');
  assert.equal(mode(settings), '640');

  machine.run('apt-get purge -q -y svc');
  assert.ok(existsSync(machine.path('var/lib/svc/svc.db')), 'nobody has answered');
  machine.install('first.deb');
  stop = await machine.serve();
  assert.equal(await machine.login(), 201);
  await stop();
  machine.run("echo 'svc svc/remove-data boolean true' | debconf-set-selections && apt-get purge -q -y svc");
  for (const path of ['etc/svc', 'var/lib/svc', 'usr/lib/svc', 'usr/bin/svc'])
    assert.ok(!existsSync(machine.path(path)), path);
}

/** `install.sh --system` in the same root, with programs in place of those that only an installation of packages calls. */
function installSystem(machine: Machine): void {
  const copy = copyCheckout([
    ...['install.sh', 'release.js', 'package.json', 'package-lock.json', 'tsconfig.json', 'esbuild.config.js'],
    ...['external-packages.js', 'src', 'bin', 'dist', 'docs', 'migrations', 'templates'],
    ...['LICENSE', 'README.md'],
  ]);
  cpSync(copy.dir, machine.path('root/checkout'), {
    recursive: true,
    filter: (file) => file !== join(copy.dir, 'node_modules'),
  });
  copy.dispose();
  execFileSync('cp', ['-a', `${join(root, 'node_modules')}/.`, machine.path('root/checkout/node_modules')]);
  for (const name of ['npm', 'c++', 'make', 'python3'])
    writeFileSync(machine.path(`usr/local/bin/${name}`), '#!/bin/sh\n', { mode: 0o755 });
  const path = 'PATH=/usr/local/bin:$PATH; cd /root/checkout; umask 077;';
  machine.run('apt-get install -q -y --no-install-recommends nodejs');
  const said = machine.run(`${path} touch dist/.complete; ./install.sh --system`);
  assert.match(said, /sign a first user up:\n {2}runuser -u svc -- svc project create .*\n {2}curl /);
  const owners = machine.run('stat -c "%U:%G %a" /etc/svc/svc.env /var/lib/svc/svc.db /usr/local/lib/svc/dist/main.js');
  assert.equal(owners, 'root:svc 640\nsvc:svc 600\nroot:root 644\n');
  assert.match(machine.run(`${path} ./install.sh --system`), /Making a backup before the upgrade/);
  assert.equal(machine.backups().length, 1);
  assert.match(machine.run('dpkg -i /root/first.deb', 1), /runs another installation/);
  machine.run(`${path} svc --config /etc/svc/svc.env config set SVC_BACKUP_TO /nowhere/backups`);
  assert.match(machine.run(`${path} ./install.sh --system`, 1), /nothing was upgraded/);
  assert.equal(machine.run('ls /usr/local/lib | grep svc'), 'svc\n');
  machine.run('rm -rf /etc/systemd/system/svc.service /usr/local/bin/svc /usr/local/lib/svc /etc/svc /var/lib/svc');
}

/** The unit, as systemd of this release sees it. */
function verifyUnit(machine: Machine): void {
  machine.run('apt-get install -q -y --no-install-recommends systemd');
  machine.install('first.deb');
  assert.equal(machine.run('systemd-analyze verify svc.service'), '');
  const rated = machine.run('systemd-analyze security --offline=true svc.service');
  const [, level] = /exposure level for svc\.service: (\d+\.\d)/.exec(rated) ?? assert.fail(rated);
  assert.ok(Number(level) <= 2, rated);
}
