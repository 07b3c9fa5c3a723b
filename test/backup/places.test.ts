// Where backups go: SVC_BACKUP_TO, directories and S3, and what `backup list` says of them.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { startS3Server } from '../harness/s3-server.js';

type Listed = { backups: { file: string; createdAt: string; bytes: number; verifiedAt: string | null }[] };

const place = await install();
after(() => place.dispose());
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
const to = join(place.dir, 'my backups');
const settings = { SVC_BACKUP_TO: to, SVC_BACKUP_PASSPHRASE: 'correct horse' };
const run = async <T>(args: string[], env: Record<string, string>): Promise<T> => {
  const { code, out, err } = await place.svc([...args, '--json'], { env });
  assert.equal(code, 0, err);
  return JSON.parse(out);
};

test('create and list use SVC_BACKUP_TO and its passphrase, and list has the time of the verification', async () => {
  const { file } = await run<{ file: string }>(['backup', 'create'], settings);
  const name = file.slice(to.length + 1);
  assert.match(file, /\/my backups\/svc-[\dT-]+Z\.tar\.age$/);
  // The directory of the volume has a directory that only the superuser may read.
  mkdirSync(join(to, 'lost+found'), { mode: 0o000 });
  const before = await run<Listed>(['backup', 'list'], settings);
  assert.deepEqual(
    before.backups.map(({ file: one, verifiedAt }) => [one, verifiedAt]),
    [[file, null]],
  );
  // Its name is enough.
  await run(['backup', 'verify', name], settings);
  const [verified] = (await run<Listed>(['backup', 'list', '--from', to], {})).backups;
  assert.ok(verified?.verifiedAt);
  assert.ok(Math.abs(Date.parse(verified.createdAt) - Date.now()) < 600_000);
  const { out } = await place.svc(['backup', 'list'], { env: settings });
  assert.match(out, new RegExp(`^NAME +CREATED +BYTES +VERIFIED *\\n${name} +\\S+ +\\d+ +\\S+ *\\n$`));
  assert.equal((await place.svc(['backup', 'verify', name])).code, 3);
  assert.equal((await place.svc(['backup', 'verify', file])).code, 4);
  const dry = await place.svc(['backup', 'restore', name, '--dry-run'], { env: settings });
  assert.equal(dry.code, 5, dry.err);
  // Another archive of that name was not verified.
  writeFileSync(file, 'another');
  assert.equal((await run<Listed>(['backup', 'list'], settings)).backups[0]?.verifiedAt, null);
});

test('an archive in S3 is created, listed, verified and restored by its URL', async () => {
  const s3 = await startS3Server();
  const { SVC_FILES_KEY_ID = '', SVC_FILES_SECRET = '' } = s3.settings('x');
  const key = { SVC_BACKUP_KEY_ID: SVC_FILES_KEY_ID, SVC_BACKUP_SECRET: SVC_FILES_SECRET };
  const url = s3.url('deep/er');
  assert.equal((await place.svc(['backup', 'create', url])).code, 7);
  const { file } = await run<{ file: string }>(['backup', 'create', url], key);
  assert.match(file, /^s3:\/\/files\/deep\/er\/svc-[\dT-]+Z\.tar\?endpoint=/);
  await run(['backup', 'verify', file], key);
  // Another spelling of the same place.
  const spelled = `${s3.url('deep/er/')}&region=us-east-1&pathStyle=true`;
  const { backups } = await run<Listed>(['backup', 'list', '--from', spelled], key);
  assert.deepEqual([backups.length, backups[0]?.file, typeof backups[0]?.verifiedAt], [1, file, 'string']);
  await run(['backup', 'restore', file, '--confirm', place.database], key);
  const missing = await place.svc(['backup', 'verify', file.replace('Z.tar', 'X.tar')], { env: key });
  assert.deepEqual([missing.code, /svc backup list/.test(missing.err)], [3, true]);
  s3.intercept = (request) => {
    if (request.method !== 'PUT') return false;
    request.socket.destroy();
    return true;
  };
  const cut = await place.svc(['backup', 'create', `${s3.url('cut')}`], { env: key });
  assert.equal(cut.code, 6, cut.err);
  s3.intercept = () => false;
  assert.deepEqual((await run<Listed>(['backup', 'list', '--from', s3.url('cut')], key)).backups, []);
});

test('two backups of one name at once: one is made, the other gets exit code 5', async () => {
  const runs = await Promise.all([0, 1, 2].map(() => place.svc(['backup', 'create', 'same.tar'], { fresh: true })));
  assert.deepEqual(runs.map(({ code }) => code).sort(), [0, 5, 5]);
  assert.equal((await place.svc(['backup', 'verify', 'same.tar'])).code, 0);
  assert.deepEqual(
    readdirSync(place.dir).filter((name) => name.includes('incoming')),
    [],
  );
});

test('mistakes in the settings are named', async () => {
  for (const [env, problem] of [
    [{ SVC_BACKUP_CRON: '0 3 30 2 *' }, /SVC_BACKUP_CRON must be the five or six fields/],
    [{ SVC_BACKUP_CRON: '* * * * * *' }, /SVC_BACKUP_CRON must be .* at most once a minute/],
    [{ SVC_BACKUP_KEEP: '0' }, /SVC_BACKUP_KEEP must be a number, or days, weeks and months: 7d4w6m/],
    [{ SVC_BACKUP_TO: 'file:/backup' }, /SVC_BACKUP_TO must be an absolute path or s3:/],
    [{ SVC_BACKUP_TO: 's3://files' }, /SVC_BACKUP_KEY_ID and SVC_BACKUP_SECRET are not set/],
    [{ SVC_BACKUP_KEY_ID: 'id' }, /SVC_BACKUP_KEY_ID and SVC_BACKUP_SECRET go together/],
  ] as [Record<string, string>, RegExp][]) {
    const { code, err } = await place.svc(['config', 'check'], { env });
    assert.equal(code, 7);
    assert.match(err, problem);
  }
  writeFileSync(join(place.dir, 'empty.txt'), '\n');
  const empty = await place.svc(['backup', 'create', 'x.age', '--passphrase-file', 'empty.txt']);
  assert.deepEqual([empty.code, /is empty/.test(empty.err)], [2, true]);
});
