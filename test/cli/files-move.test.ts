// `svc files move` and the check of S3 settings, as an operator runs them.
import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { startS3Server } from '../harness/s3-server.js';

const s3 = await startS3Server();
const place = await install();
after(() => place.dispose());
const file = join(place.dir, 'svc.env');
const { SVC_FILES_URL: url = '', ...credentials } = s3.settings('moved');
const settingsOf = () => readFileSync(file, 'utf8').match(/^SVC_FILES_.*$/gm) ?? [];

test('files move copies to S3, switches the settings, and goes on after the restart', async () => {
  mkdirSync(join(place.dir, 'data/files/p'), { recursive: true });
  for (const name of ['a', 'b', 'c']) writeFileSync(join(place.dir, 'data/files/p', name), name.repeat(1000));
  const refused = await place.svc(['files', 'move', '--to', url]);
  assert.equal(refused.code, 2);
  assert.match(refused.err, /SVC_FILES_KEY_ID is not set/);
  for (const [words, message] of [
    [['files', 'move'], /--to URL/],
    [['files', 'move', '--to', 'ftp://x'], /must be file:DIRECTORY or s3:/],
    [['files', 'move', '--to', 'file:data/files'], /in this store already/],
  ] as const) {
    const { code, err } = await place.svc(words);
    assert.equal(code, 2);
    assert.match(err, message);
  }
  Object.assign(place.env, credentials);
  const away = await place.svc(['files', 'move', '--to', `s3://nowhere?endpoint=${s3.origin}`]);
  assert.equal(away.code, 6);
  assert.match(away.err, /there is no such bucket/);
  assert.deepEqual(settingsOf(), []);

  type Moved = { copied: number; present: number; bytes: number; switched: boolean };
  const first = await place.json<Moved>(['files', 'move', '--to', url]);
  assert.deepEqual([first.copied, first.present, first.bytes, first.switched], [3, 0, 3000, true]);
  const from = `file:${join(place.dir, 'data/files')}`;
  assert.deepEqual(settingsOf(), [`SVC_FILES_URL=${url}`, `SVC_FILES_FROM=${from}`]);
  assert.equal((await place.svc(['files', 'move', '--to', 'file:other'])).code, 5, 'a move is under way');

  // What a server wrote that was not restarted yet.
  writeFileSync(join(place.dir, 'data/files/p/late'), 'late');
  const unsure = await place.svc(['files', 'move']);
  assert.equal(unsure.code, 4);
  assert.match(unsure.err, /restarted.*--yes/s);
  assert.equal(settingsOf().length, 2);
  const second = await place.json<Moved>(['files', 'move', '--yes']);
  assert.deepEqual([second.copied, second.present, second.switched], [1, 3, true]);
  assert.deepEqual(settingsOf(), [`SVC_FILES_URL=${url}`]);

  assert.equal((await place.svc(['config', 'check'])).code, 0);
  const wrong = await place.svc(['config', 'check'], { env: { SVC_FILES_KEY_ID: 'nobody' } });
  assert.equal(wrong.code, 7);
  assert.match(wrong.err, /SVC_FILES_URL names a store that cannot be used: the service does not know the key id/);
  assert.match((await place.svc(['config', 'show'])).out, /SVC_FILES_SECRET +\*{3}\n/);
});

test('files copied by root belong to the owner of the data directory', {
  skip: process.getuid?.() !== 0 && 'needs root',
}, async () => {
  const other = await install();
  after(() => other.dispose());
  const data = join(other.dir, 'data');
  mkdirSync(join(data, 'files/p/q'), { recursive: true });
  writeFileSync(join(data, 'files/p/q/a'), 'text');
  chownSync(data, 12_345, 23_456);
  await other.json(['files', 'move', '--to', `file:${join(other.dir, 'new/place')}`]);
  for (const path of ['new', 'new/place', 'new/place/p/q', 'new/place/p/q/a']) {
    const { uid, gid } = statSync(join(other.dir, path));
    assert.deepEqual([uid, gid], [12_345, 23_456], path);
  }
});

test('config check looks whether a directory of files can be used, and makes nothing', async () => {
  const other = await install();
  after(() => other.dispose());
  const checked = (directory: string) =>
    other.svc(['config', 'check'], { env: { SVC_FILES_URL: `file:${directory}` } });
  assert.equal((await checked(join(other.dir, 'not/there'))).code, 0);
  assert.ok(!existsSync(join(other.dir, 'not')));
  writeFileSync(join(other.dir, 'plain'), '');
  for (const [directory, message] of [
    [join(other.dir, 'plain'), /SVC_FILES_URL names a store that cannot be used: .*plain is no directory/],
    [join(other.dir, 'plain/below'), /plain is no directory/],
    ...(process.getuid?.() === 0 ? [] : [['/proc/files', /cannot be written to/] as const]),
  ] as const) {
    const { code, err } = await checked(directory);
    assert.equal(code, 7, directory);
    assert.match(err, message);
  }
});
