// The Debian package: its files, its scripts, and what it depends on. Skipped if dpkg-deb is missing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { root } from '../harness/checkout.js';

const { canPackDebian, packDebian } = await import(pathToFileURL(join(root, 'release-debian.js')).href);
const skip = canPackDebian() ? false : 'dpkg-deb is missing';
const run = (program: string, ...args: readonly string[]) => execFileSync(program, args, { encoding: 'utf8' });

test('the package holds the program, the unit and the scripts, and needs Node.js unless it has its own', {
  skip,
}, () => {
  const staging = mkdtempSync(join(tmpdir(), 'svc-debian-'));
  try {
    for (const withNode of [false, true]) {
      const [place, top] = [join(staging, String(withNode)), join(staging, 'program')];
      mkdirSync(place);
      mkdirSync(top);
      writeFileSync(join(top, 'svc'), '#!/bin/sh\n', { mode: 0o755 });
      const file = packDebian({ root, top, staging: place, target: staging, version: '1.2.3', withNode });
      assert.equal(run('dpkg-deb', '--field', file, 'Version').trim(), '1.2.3');
      assert.equal(/\bnodejs \(>= 20\.19\)/.test(run('dpkg-deb', '--field', file, 'Depends')), !withNode);
      const listed = run('dpkg-deb', '--contents', file);
      for (const path of ['usr/lib/svc/svc', 'usr/bin/svc -> ../lib/svc/svc', 'usr/lib/systemd/system/svc.service'])
        assert.ok(listed.includes(`./${path}`), path);
      assert.doesNotMatch(listed, /^.{10} (?!root\/root)/m);
      const unpacked = join(place, 'unpacked');
      run('dpkg-deb', '--extract', file, unpacked);
      const unit = readFileSync(join(unpacked, 'usr/lib/systemd/system/svc.service'), 'utf8');
      assert.match(unit, /^ExecStart=\/usr\/bin\/svc serve$/m);
    }
    for (const script of ['preinst', 'postinst', 'prerm', 'postrm'])
      run('sh', '-n', join(root, 'templates/debian', script));
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
});
