// Packs an archive that runs without a compiler and without the network: node release.js [DIRECTORY], after `npm run build`.
// Beside it, a CycloneDX document lists the packages that are in it, and SHA256SUMS holds the checksums of both.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { create } from 'tar';
import { externalPackages, installationPackages } from './external-packages.js';

/** What is loaded of the SQLite driver. */
const sqliteParts = ['package.json', 'LICENSE', 'lib', 'build/Release/node_sqlite3.node'];

const root = import.meta.dirname;
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const title = `${name}-${version}-${process.platform}-${process.arch}`;
const target = resolve(process.argv[2] ?? join(root, 'release'));
const staging = mkdtempSync(join(tmpdir(), 'svc-release-'));

try {
  const top = join(staging, title);
  const packages = shippedPackages(Object.keys(locked[''].dependencies));
  copyProduct(top);
  for (const path of shippedPackages(externalPackages)) copyPackage(path, top);
  writeFileSync(join(top, 'THIRD-PARTY-LICENSES'), licences(packages));
  mkdirSync(target, { recursive: true });
  const archive = join(target, `${title}.tar.gz`);
  // Portable: without the owner and the times of this machine.
  await create({ file: archive, cwd: staging, gzip: true, portable: true }, [title]);
  const sbom = join(target, `${title}.cdx.json`);
  writeFileSync(sbom, `${JSON.stringify(componentsOf(packages), null, 2)}\n`);
  writeFileSync(join(target, 'SHA256SUMS'), [archive, sbom].map(checksumLine).join(''));
  process.stdout.write(`${archive}\n`);
} finally {
  rmSync(staging, { recursive: true, force: true });
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
    cpSync(join(root, path), join(top, path), { recursive: true, filter: (file) => !file.endsWith('.complete') });
  symlinkSync('bin/svc', join(top, 'svc'));
  // What `svc version` prints beside the commit, which the build has found.
  writeFileSync(join(top, 'release.json'), `${JSON.stringify({ archive: title })}\n`);
}

/** A package without its types and documentation. */
function copyPackage(path, top) {
  const isNeeded = (file) => {
    const inside = relative(join(root, path), file);
    return !/(?:^|\/)node_modules(?:\/|$)|\.(?:[cm]?ts|map|md|markdown)$/.test(inside);
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
  document.dependencies = document.dependencies
    .filter(({ ref }) => ref === own || shipped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => shipped.has(one)) }));
  return document;
}

/** A line that `sha256sum --check` reads. */
function checksumLine(file) {
  return `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${basename(file)}\n`;
}
