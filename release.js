// Packs an archive that runs without a compiler and without the network: node release.js [DIRECTORY] [OPTIONS], after `npm run build`.
// Where dpkg-deb is installed, a Debian package is made of the same files. Beside them, a CycloneDX document lists the packages that are in
// them, and SHA256SUMS holds the checksums.
//   --with-node  puts the Node.js that runs this into the archive and the package
//   --tree       writes only the unpacked archive, to DIRECTORY, which must not exist
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { externalPackages, installationPackages } from './external-packages.js';
import { canPackDebian, packDebian } from './templates/debian/package.js';

/** What is loaded of the SQLite driver. */
const sqliteParts = ['package.json', 'LICENSE', 'lib', 'build/Release/node_sqlite3.node'];

const root = import.meta.dirname;
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const { values: options, positionals } = parseArgs({
  options: { 'with-node': { type: 'boolean' }, tree: { type: 'boolean' } },
  allowPositionals: true,
});
const node = options['with-node'] ? process.versions.node : undefined;
const title = `${name}-${version}-${process.platform}-${process.arch}${node === undefined ? '' : '-node'}`;
const target = resolve(positionals[0] ?? join(root, 'release'));
const packages = shippedPackages(Object.keys(locked[''].dependencies));

if (options.tree) {
  writeTree(target);
  process.stdout.write(`${target}\n`);
} else {
  const staging = mkdtempSync(join(tmpdir(), 'svc-release-'));
  try {
    process.stdout.write(`${await pack(staging)}\n`);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Writes the files of a release to `target`. Returns the path of the archive. */
async function pack(staging) {
  // Not needed by --tree, which install.sh uses without the packages for development.
  const { create } = await import('tar');
  const top = join(staging, title);
  writeTree(top);
  mkdirSync(target, { recursive: true });
  const archive = join(target, `${title}.tar.gz`);
  // Portable: without the owner and the times of this machine.
  await create({ file: archive, cwd: staging, gzip: true, portable: true }, [title]);
  const sbom = join(target, `${title}.cdx.json`);
  writeFileSync(sbom, `${JSON.stringify(componentsOf(packages), null, 2)}\n`);
  const made = [archive, sbom];
  if (canPackDebian()) made.push(packDebian({ root, top, staging, target, version, node }));
  writeFileSync(join(target, 'SHA256SUMS'), made.map(checksumLine).join(''));
  return archive;
}

/** Everything that is in the archive. */
function writeTree(top) {
  mkdirSync(top, { recursive: true });
  copyProduct(top);
  for (const path of shippedPackages(externalPackages)) copyPackage(path, top);
  writeFileSync(join(top, 'THIRD-PARTY-LICENSES'), licences(packages));
}

/** The paths of these packages and of whatever they need to run, as the lockfile has them; what is for other platforms is not installed. */
function shippedPackages(names) {
  const found = new Set();
  const add = (from, wanted) => {
    const path = installedPath(from, wanted);
    if (path === undefined || found.has(path) || installationPackages.includes(wanted)) return;
    found.add(path);
    const { dependencies, optionalDependencies } = locked[path];
    for (const one of Object.keys({ ...dependencies, ...optionalDependencies })) add(path, one);
  };
  for (const wanted of names) add('', wanted);
  return [...found].sort();
}

/** Where Node.js finds a package from another one: in its own node_modules, or in one further up. */
function installedPath(from, wanted) {
  for (let place = from; ; place = place.slice(0, Math.max(0, place.lastIndexOf('node_modules/') - 1))) {
    const path = join(place, 'node_modules', wanted);
    if (locked[path] !== undefined && existsSync(join(root, path))) return path;
    if (place === '') return undefined;
  }
}

/** Everything of this repository that runs, with its documentation. */
function copyProduct(top) {
  for (const path of [
    'bin',
    'dist',
    'migrations',
    'templates',
    'docs',
    'README.md',
    'src/README.md',
    'LICENSE',
    'package.json',
  ])
    cpSync(join(root, path), join(top, path), { recursive: true, filter: isShipped });
  if (node === undefined) symlinkSync('bin/svc', join(top, 'svc'));
  else copyNode(top);
  // What `svc version` prints beside the commit, which the build has found.
  writeFileSync(join(top, 'release.json'), `${JSON.stringify({ archive: title })}\n`);
}

/** False for what only an installation or a release of a checkout needs. */
function isShipped(file) {
  return !file.endsWith('.complete') && file !== join(root, 'templates/debian');
}

/** The running Node.js, its licence, and a command that uses it. */
function copyNode(top) {
  const shared = Object.entries(process.config.variables).filter(
    ([key, on]) => key.startsWith('node_shared') && on === true,
  );
  if (shared.length > 0)
    throw new Error(
      'This Node.js needs libraries of this system. Take one from https://nodejs.org/en/download for --with-node.',
    );
  const program = realpathSync(process.execPath);
  cpSync(program, join(top, 'bin/node'));
  writeFileSync(join(top, 'LICENSE-NODE'), readFileSync(licenceOfNode(dirname(dirname(program)))));
  const lines = [
    '#!/bin/sh',
    'here=$(dirname "$(readlink -f "$0")")',
    'exec "$here/bin/node" "$here/bin/svc" "$@"',
    '',
  ];
  writeFileSync(join(top, 'svc'), lines.join('\n'), { mode: 0o755 });
}

/** Where archives and packages of Node.js put its licence. */
function licenceOfNode(prefix) {
  const places = ['LICENSE', 'share/doc/nodejs/LICENSE', 'share/doc/nodejs/copyright', 'share/doc/node/LICENSE'];
  const found = places.map((place) => join(prefix, place)).find(existsSync);
  if (found === undefined)
    throw new Error(
      `No licence of Node.js is below ${prefix}; an archive with Node.js must contain it. Take Node.js from https://nodejs.org/en/download.`,
    );
  return found;
}

/** A package without its types and documentation. */
function copyPackage(path, top) {
  const isNeeded = (file) => {
    const inside = relative(join(root, path), file);
    return !/(?:^|\/)node_modules(?:\/|$)|\.(?:[cm]?ts|map|md|markdown|npmignore)$/.test(inside);
  };
  // The sources and intermediate files of the driver are larger than everything else together.
  for (const part of path.endsWith('/sqlite3') ? sqliteParts : ['.'])
    cpSync(join(root, path, part), join(top, path, part), { recursive: true, filter: isNeeded });
}

/** The licence of each package whose code is in the archive, bundled or not. */
function licences(paths) {
  const texts = paths.map((path) => {
    const {
      name: title,
      version: number,
      license,
    } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
    const files = readdirSync(join(root, path)).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
    const text = files.map((file) => readFileSync(join(root, path, file), 'utf8').trim()).join('\n\n');
    return `${title} ${number} (${license ?? 'see below'})\n\n${text}`.trim();
  });
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/**
 * npm's CycloneDX document of these packages. They are chosen here, because its --omit=dev leaves out what packages for development need too,
 * and does not leave out what only an installation needs.
 */
function componentsOf(paths) {
  const printed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
  const document = JSON.parse(printed);
  const shipped = new Set(paths.map((path) => `${path.split('node_modules/').pop()}@${locked[path].version}`));
  const listed = document.components.map((component) => component['bom-ref']);
  const unlisted = [...shipped].filter((one) => !listed.includes(one));
  if (unlisted.length > 0) throw new Error(`npm sbom does not list ${unlisted.join(', ')}; run npm ci`);
  const own = document.metadata.component['bom-ref'];
  // npm names the directory here.
  document.metadata.component.name = name;
  document.components = document.components.filter((component) => shipped.has(component['bom-ref']));
  if (node !== undefined) document.components.push(nodeComponent());
  document.dependencies = document.dependencies
    .filter(({ ref }) => ref === own || shipped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => shipped.has(one)) }));
  return document;
}

/** The Node.js that is in the archive. */
function nodeComponent() {
  const purl = `pkg:generic/node@${node}`;
  return { 'bom-ref': purl, type: 'application', name: 'node', version: node, purl };
}

/** A line that `sha256sum --check` reads. */
function checksumLine(file) {
  return `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${basename(file)}\n`;
}
