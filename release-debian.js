// A package for Debian and Ubuntu from an unpacked archive. The scripts of the package are in templates/debian.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const architectures = { x64: 'amd64', arm64: 'arm64' };
const scripts = ['preinst', 'postinst', 'prerm', 'postrm'];

/** True if this machine can build a package. */
export function canPackDebian() {
  if (process.platform !== 'linux' || architectures[process.arch] === undefined) return false;
  try {
    execFileSync('dpkg-deb', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Moves the unpacked archive `top` into a package in the directory `target`. Returns the path of the package. */
export function packDebian({ root, top, staging, target, version, withNode }) {
  const architecture = architectures[process.arch];
  const tree = join(staging, 'debian');
  for (const directory of ['DEBIAN', 'usr/bin', 'usr/lib', 'usr/lib/systemd/system', 'usr/share/doc/svc'])
    mkdirSync(join(tree, directory), { recursive: true });
  renameSync(top, join(tree, 'usr/lib/svc'));
  symlinkSync('../lib/svc/svc', join(tree, 'usr/bin/svc'));
  const unit = readFileSync(join(root, 'templates/systemd/svc.service'), 'utf8');
  writeFileSync(
    join(tree, 'usr/lib/systemd/system/svc.service'),
    unit.replace('/usr/local/bin/svc serve', '/usr/bin/svc serve'),
  );
  cpSync(join(root, 'LICENSE'), join(tree, 'usr/share/doc/svc/copyright'));
  const depends = ['passwd', ...(withNode ? ['libc6', 'libstdc++6'] : ['nodejs (>= 20.19)'])];
  writeFileSync(
    join(tree, 'DEBIAN/control'),
    [
      'Package: svc',
      `Version: ${version}`,
      `Architecture: ${architecture}`,
      'Maintainer: svc <root@localhost>',
      `Depends: ${depends.join(', ')}`,
      'Section: net',
      'Priority: optional',
      'Description: backend for applications',
      ' Users, teams, documents, files and webhooks over SQLite or Postgres, as one process.',
      '',
    ].join('\n'),
  );
  cpSync(join(root, 'templates/debian/templates'), join(tree, 'DEBIAN/templates'));
  for (const script of scripts) {
    cpSync(join(root, 'templates/debian', script), join(tree, 'DEBIAN', script));
    chmodSync(join(tree, 'DEBIAN', script), 0o755);
  }
  // What the umask of this machine has removed.
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', tree]);
  const file = join(target, `svc_${version}_${architecture}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', tree, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
}
