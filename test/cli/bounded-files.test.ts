// Files that flags and settings name are read up to a bound, whatever they are; what is no text is refused.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

let place: Installation;
let huge: string;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  huge = join(place.dir, 'huge');
  writeFileSync(huge, 'KEY=1');
  truncateSync(huge, 20 * 1_048_576);
});
after(() => place.dispose());

const user = ['user', 'create', '--project', 'shop', '--email', 'ada@shop.example'];

test('a larger file is refused with its flag and the bound, and a device without an end like it', async () => {
  const verify = ['webhook', 'verify', '--signature', 'aa'];
  writeFileSync(join(place.dir, 'secret'), `whsec_${'c2VjcmV0'.repeat(4)}`);
  for (const [args, flag, bound] of [
    [[...user, '--secret-file'], '--secret-file', 64],
    [[...verify, '--secret-file'], '--secret-file', 64],
    [[...verify, '--secret-file', 'secret', '--body-file'], '--body-file', 16_384],
    [['provider', 'add', 'saml', '--project', 'shop', '--key', 'k', '--metadata-file'], '--metadata-file', 1024],
    [
      [...'webhook add --project shop --name w --url https://example.com --events * --auth-password-file'.split(' ')],
      '--auth-password-file',
      64,
    ],
  ] as const)
    for (const file of [huge, '/dev/zero']) {
      const { code, err } = await place.svc([...args, file]);
      assert.equal(code, 2, err);
      assert.ok(err.includes(`${flag} ${file} has more than ${bound} KiB.`), err);
    }
  const piped = await place.svc([...user, '--password-stdin'], { input: 'x'.repeat(65_537) });
  assert.equal(piped.code, 2);
  assert.match(piped.err, /stdin has more than 64 KiB\./);
});

test('settings too', async () => {
  for (const file of [huge, '/dev/zero']) {
    const config = await place.svc(['--config', file, 'project', 'list']);
    assert.equal(config.code, 7, config.err);
    assert.ok(config.err.includes(`The configuration file ${file} has more than 1024 KiB`), config.err);
    const value = await place.svc(['project', 'list'], { env: { SVC_SMTP_URL_FILE: file } });
    assert.equal(value.code, 7, value.err);
    assert.ok(
      value.err.includes(`SVC_SMTP_URL_FILE names ${file}, which cannot be read: it has more than 64 KiB`),
      value.err,
    );
  }
});

test('a secret that is not UTF-8 is refused, as other bytes would be the same secret', async () => {
  const file = join(place.dir, 'latin');
  writeFileSync(file, Buffer.from('676f6f6470617373fffe31323334', 'hex'));
  const { code, err } = await place.svc([...user, '--secret-file', file]);
  assert.equal(code, 2);
  assert.ok(err.includes(`--secret-file ${file} is not UTF-8.`), err);
  const setting = await place.svc(['project', 'list'], { env: { SVC_SMTP_URL_FILE: file } });
  assert.match(setting.err, /SVC_SMTP_URL_FILE names a file that is not UTF-8/);
});

test('a pipe is read to its end', async () => {
  const pipe = join(place.dir, 'pipe');
  const writer = spawn('sh', ['-c', `mkfifo ${pipe} && (printf 'quiet '; sleep 0.2; printf 'river stone') > ${pipe}`]);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal((await place.svc([...user, '--secret-file', pipe])).code, 0);
  writer.kill();
});

test('audit verify --file rejects a file that is not an export', async () => {
  const directory = await place.svc(['audit', 'verify', '--file', place.dir]);
  assert.equal(directory.code, 2, directory.err);
  assert.match(directory.err, /is a directory\.\nnext: /);
  for (const file of [huge, '/dev/zero']) {
    const { code, err } = await place.svc(['audit', 'verify', '--file', file]);
    assert.equal(code, 2, err);
    assert.ok(err.includes(`${file} has a line of more than 4 MiB`), err);
  }
});

test('an export onto a full disk says so', async () => {
  await place.json(['database', 'create', 'Blog', '--project', 'shop', '--id', 'blog']);
  const at = ['--project', 'shop', '--database', 'blog'];
  await place.json(['collection', 'create', 'Posts', ...at, '--id', 'posts']);
  await place.svc(['document', 'import', '-', ...at, '--collection', 'posts'], { input: '{}\n{}\n' });
  const { code, err } = await place.svc(['document', 'export', '/dev/full', ...at, '--collection', 'posts']);
  assert.equal(code, 1);
  assert.match(err, /\/dev\/full cannot be written: the disk is full \(ENOSPC\)\.\nnext: make room /);
});
