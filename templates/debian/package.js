// A package for Debian and Ubuntu, made of an unpacked archive. `npm run release` calls it where dpkg-deb is installed.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

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

/**
 * The version of the package. `0.2.0-beta.1` sorts before `0.2.0` with a tilde. A package with Node.js has its version too, so that a newer
 * Node.js makes a newer package.
 */
export function debianVersion(version, node) {
  return version.replaceAll('-', '~') + (node === undefined ? '' : `+node${node}`);
}

/** Copies the unpacked archive `top` into a package in the directory `target`. Returns its path. `node` is the version of Node.js in it. */
export function packDebian({ root, top, staging, target, version, node }) {
  const [architecture, packageVersion] = [architectures[process.arch], debianVersion(version, node)];
  const tree = join(staging, 'debian');
  for (const directory of [
    'DEBIAN',
    'usr/bin',
    'usr/lib/systemd/system',
    'usr/share/doc/svc',
    'usr/share/lintian/overrides',
    'usr/share/man/man1',
  ])
    mkdirSync(join(tree, directory), { recursive: true });
  cpSync(top, join(tree, 'usr/lib/svc'), { recursive: true, verbatimSymlinks: true });
  symlinkSync('../lib/svc/svc', join(tree, 'usr/bin/svc'));
  const unit = readFileSync(join(root, 'templates/systemd/svc.service'), 'utf8');
  const write = (path, text) => writeFileSync(join(tree, path), text);
  write('usr/lib/systemd/system/svc.service', unit.replace('/usr/local/bin/svc serve', '/usr/bin/svc serve'));
  write('usr/share/doc/svc/copyright', readFileSync(join(root, 'LICENSE')));
  write('usr/share/doc/svc/changelog.gz', gzipSync(changelog(packageVersion), { level: 9 }));
  write('usr/share/man/man1/svc.1.gz', gzipSync(readFileSync(join(root, 'templates/debian/svc.1')), { level: 9 }));
  cpSync(join(root, 'templates/debian/lintian-overrides'), join(tree, 'usr/share/lintian/overrides/svc'));
  const size = Math.ceil(sizeOf(tree) / 1024);
  write('DEBIAN/control', control({ architecture, version: packageVersion, depends: dependsOf(top, node), size }));
  for (const file of ['templates', ...scripts])
    cpSync(join(root, 'templates/debian', file), join(tree, 'DEBIAN', file));
  // What the umask of this machine has removed.
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', tree]);
  for (const file of filesOf(join(tree, 'usr/lib/svc')).filter((one) => isNative(one))) prepareNative(file);
  for (const script of scripts) chmodSync(join(tree, 'DEBIAN', script), 0o755);
  const file = join(target, `svc_${packageVersion}_${architecture}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '-z1', '--build', tree, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
}

/** Who made the package: the variables that Debian's tools read, too. */
function maintainer() {
  const { DEBFULLNAME = 'svc', DEBEMAIL = 'svc@localhost.localdomain' } = process.env;
  return `${DEBFULLNAME} <${DEBEMAIL}>`;
}

/** The changelog in Debian's form. The product's own is in its documentation. */
function changelog(version) {
  const { SOURCE_DATE_EPOCH } = process.env;
  const date = SOURCE_DATE_EPOCH === undefined ? new Date() : new Date(SOURCE_DATE_EPOCH * 1000);
  const day = date.toUTCString().replace('GMT', '+0000');
  return `svc (${version}) stable; urgency=medium\n\n  * See /usr/lib/svc/docs/CHANGELOG.md.\n\n -- ${maintainer()}  ${day}\n`;
}

/** The text of the control file. */
function control({ architecture, version, depends, size }) {
  return [
    'Package: svc',
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${maintainer()}`,
    `Installed-Size: ${size}`,
    `Depends: ${depends.join(', ')}`,
    'Section: net',
    'Priority: optional',
    'Description: backend for applications as one process',
    ' Users and logins, documents with permissions, files, realtime and webhooks,',
    ' over HTTP. Data is in an SQLite file or in Postgres.',
    '',
  ].join('\n');
}

/** The scripts need debconf and passwd, the native code a C library that is at least as new as its symbols. */
function dependsOf(top, node) {
  const minors = filesOf(top)
    .filter((file) => isNative(file) || file === join(top, 'bin/node'))
    .flatMap((file) => [...readFileSync(file, 'latin1').matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor)));
  const library = minors.length === 0 ? 'libc6' : `libc6 (>= 2.${Math.max(...minors)})`;
  const runs = node === undefined ? ['nodejs (>= 20.19)'] : [];
  return ['debconf (>= 0.5) | debconf-2.0', library, 'libgcc-s1', 'libstdc++6', ...runs, 'passwd'];
}

/** True for libraries. */
function isNative(file) {
  return /\.node$|\.so(?:\.\d+)*$/.test(file);
}

/** A library as Debian wants it: not executable, and if it was compiled here, without symbols for debuggers where `strip` is installed. */
function prepareNative(file) {
  chmodSync(file, 0o644);
  if (file.includes('/build/Release/')) spawnSync('strip', ['--strip-unneeded', file], { stdio: 'ignore' });
}

/** The regular files below a directory. */
function filesOf(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function sizeOf(directory) {
  return filesOf(directory).reduce((sum, file) => sum + statSync(file).size, 0);
}
