// The Debian package of a small tree: its files, its control file, its scripts. test/world/debian installs the real one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { root } from '../harness/checkout.js';
import { after } from '../harness/runner.js';

const { canPackDebian, debianVersion, packDebian } = await import(
  pathToFileURL(join(root, 'templates/debian/package.js')).href
);
const skip = canPackDebian() ? false : 'dpkg-deb is missing';
const scratch = mkdtempSync(join(tmpdir(), 'svc-debian-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
const run = (program: string, ...args: readonly string[]) => execFileSync(program, args, { encoding: 'utf8' });

/** A package of a tree that looks like an archive. */
function pack(version: string, node?: string): string {
  const place = mkdtempSync(join(scratch, 'tree-'));
  const top = join(place, 'program');
  mkdirSync(join(top, 'bin'), { recursive: true });
  writeFileSync(join(top, 'bin/svc'), '#!/bin/sh\n', { mode: 0o700 });
  symlinkSync('bin/svc', join(top, 'svc'));
  // Symbols of two versions of the C library.
  writeFileSync(join(top, 'driver.node'), 'GLIBC_2.9\0GLIBC_2.28\0', { mode: 0o755 });
  return packDebian({ root, top, staging: place, target: scratch, version, node });
}

test('it holds the program, the unit, the command and the documents, which belong to root', { skip }, () => {
  const file = pack('1.2.3');
  assert.match(file, /\/svc_1\.2\.3_(?:amd64|arm64)\.deb$/);
  const listed = run('dpkg-deb', '--contents', file);
  for (const path of ['usr/lib/svc/svc -> bin/svc', 'usr/bin/svc -> ../lib/svc/svc', 'usr/share/man/man1/svc.1.gz'])
    assert.ok(listed.includes(`./${path}\n`), path);
  assert.doesNotMatch(listed, /^.{10} (?!root\/root)/m);
  assert.doesNotMatch(listed, / \.\/(?:etc|var)/, 'settings and data are made at the installation');
  const unpacked = join(scratch, 'unpacked');
  run('dpkg-deb', '--extract', file, unpacked);
  const unit = readFileSync(join(unpacked, 'usr/lib/systemd/system/svc.service'), 'utf8');
  assert.match(unit, /^ExecStart=\/usr\/bin\/svc serve$/m);
  const modeOf = (path: string) => statSync(join(unpacked, 'usr/lib/svc', path)).mode & 0o777;
  assert.deepEqual([modeOf('bin/svc'), modeOf('driver.node'), modeOf('.')], [0o755, 0o644, 0o755]);
  const changelog = gunzipSync(readFileSync(join(unpacked, 'usr/share/doc/svc/changelog.gz'))).toString();
  assert.match(
    changelog,
    /^svc \(1\.2\.3\) stable; urgency=medium\n\n {2}\* .*\n\n -- .+ <.+> {2}\w{3}, \d\d \w{3} \d{4} .* \+0000\n$/,
  );
});

test('it depends on Node.js unless it contains one, and on the C library of its native code', { skip }, () => {
  const fields = (file: string) => run('dpkg-deb', '--field', file, 'Depends', 'Version');
  assert.match(fields(pack('1.2.3')), /\blibc6 \(>= 2\.28\).*\bnodejs \(>= 20\.19\)/);
  const own = fields(pack('1.2.3', '24.1.0'));
  assert.doesNotMatch(own, /nodejs/);
  assert.match(own, /^Version: 1\.2\.3\+node24\.1\.0$/m);
});

test('versions sort as in semantic versioning, and by the Node.js that is in them', { skip }, () => {
  const sorted = [
    debianVersion('0.2.0-beta.1'),
    debianVersion('0.2.0'),
    debianVersion('0.2.0', '24.1.0'),
    debianVersion('0.2.0', '24.10.0'),
    debianVersion('0.2.1'),
  ];
  for (const [index, version] of sorted.slice(1).entries())
    run('dpkg', '--compare-versions', sorted[index] as string, 'lt', version);
});

test('its scripts are valid, and ask before they delete data', { skip }, () => {
  const tree = join(scratch, 'control');
  run('dpkg-deb', '--control', pack('1.2.3'), tree);
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm']) {
    run('sh', '-n', join(tree, script));
    assert.equal(statSync(join(tree, script)).mode & 0o777, 0o755, script);
    assert.match(readFileSync(join(tree, script), 'utf8'), /^#!\/bin\/sh\n(?:#.*\n)*set -e\n/, script);
  }
  run('sh', '-n', join(root, 'templates/systemd/setup'));
  assert.match(
    readFileSync(join(tree, 'templates'), 'utf8'),
    /^Template: svc\/remove-data\nType: boolean\nDefault: false$/m,
  );
});
