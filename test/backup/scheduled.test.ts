// Scheduled backups: the job makes one, reads it again, and deletes old ones of its own; its age is measured.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { aServerKey } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { day } from '../harness/clock.js';
import { after } from '../harness/runner.js';
import { answerS3Error, startS3Server } from '../harness/s3-server.js';

const place = mkdtempSync(join(tmpdir(), 'svc-backups-'));
after(() => rmSync(place, { recursive: true, force: true }));
afterEach(() => {
  for (const name of archives()) rmSync(join(place, name));
});
const archives = () => readdirSync(place).filter((name) => name.endsWith('.tar') || name.endsWith('.age'));
const nightly = { SVC_BACKUP_CRON: '0 3 * * *', SVC_BACKUP_TO: place };
const run = ({ appliance }: TestAppliance) => appliance.features.jobs.run('backup.create');
const last = ({ appliance }: TestAppliance) => appliance.features.backups.lastBackup();
const measured = async ({ appliance }: TestAppliance, metric: string) =>
  new RegExp(`^${metric} (.*)$`, 'm').exec(await appliance.runtime.metrics.render())?.[1];

test('without SVC_BACKUP_CRON there is no job, and nothing is measured', async () => {
  const target = await startAppliance();
  assert.ok(!target.appliance.features.jobs.names.includes('backup.create'));
  assert.equal(await last(target), undefined);
  for (const metric of ['svc_backup_last_success_timestamp_seconds', 'svc_backup_due_timestamp_seconds'])
    assert.equal(await measured(target, metric), undefined, metric);
});

test('of its own archives the job keeps as many as are set, and of others it deletes none', async () => {
  const target = await startAppliance({ settings: { ...nightly, SVC_BACKUP_KEEP: '2' } });
  const foreign = ['svc-2020-01-01T03-00-00Z.tar', 'mine.tar', 'svc-notes.txt'];
  for (const name of foreign) writeFileSync(join(place, name), 'not of this installation');
  const made: string[] = [];
  for (let night = 0; night < 4; night++) {
    target.clock.advance(day);
    assert.equal((await run(target))?.outcome, 'ok');
    const found = await last(target);
    made.push(found?.file.split('/').at(-1) ?? '');
    assert.equal(found?.bytes, readFileSync(found?.file ?? '').length);
    assert.ok(found?.verifiedAt !== null);
  }
  assert.deepEqual(readdirSync(place).sort(), [...foreign, ...made.slice(2)].sort());
  const newest = await last(target);
  const shown = Number(await measured(target, 'svc_backup_last_success_timestamp_seconds'));
  assert.equal(shown * 1000, Date.parse(newest?.createdAt ?? ''));

  // An archive that another one replaced under its name is not deleted.
  writeFileSync(join(place, made[2] ?? ''), 'replaced');
  for (let night = 0; night < 3; night++) {
    target.clock.advance(day);
    await run(target);
  }
  assert.equal(readFileSync(join(place, made[2] ?? ''), 'utf8'), 'replaced');
});

test('a failed backup deletes nothing, is counted and says why', async () => {
  const target = await startAppliance({ settings: { ...nightly, SVC_BACKUP_KEEP: '1' } });
  await run(target);
  const before = archives();
  target.clock.advance(day);
  renameSync(place, `${place}.away`);
  writeFileSync(place, 'a file where the directory was');
  try {
    const failed = await run(target);
    assert.equal(failed?.outcome, 'failed');
    assert.match(failed?.error ?? '', /svc-.*\.tar cannot be written: .*\((EEXIST|ENOTDIR|ESTALE)\)\.$/);
  } finally {
    rmSync(place);
    renameSync(`${place}.away`, place);
  }
  assert.deepEqual(archives(), before);
  assert.equal(await measured(target, 'svc_backup_failures_total'), '1');
  assert.match(
    (await target.appliance.features.jobs.list()).find(({ name }) => name === 'backup.create')?.lastError ?? '',
    /cannot be written/,
  );
});

test('it is due from the scheduled time before the last one', async () => {
  const target = await startAppliance({ settings: nightly });
  const { dueSince } = target.appliance.features.backups;
  const { clock } = target;
  // At 12:00 the last scheduled time is 03:00 of the day, and the one before is a day earlier.
  clock.advance(day - (clock.now() % day) + day / 2);
  const expected = clock.now() - day / 2 + (3 / 24) * day - day;
  assert.ok(Math.abs((dueSince() ?? 0) - expected) < day / 24);
  assert.equal(Number(await measured(target, 'svc_backup_due_timestamp_seconds')), (dueSince() ?? 0) / 1000);
});

test('one process makes the backup of a slot', async () => {
  const target = await startAppliance({ settings: nightly });
  const sibling = await target.startSibling({ settings: nightly });
  await target.appliance.features.jobs.sweep();
  target.clock.advance(2 * day);
  await Promise.all([target, sibling].map(({ appliance }) => appliance.features.jobs.tick('backup.create')));
  assert.equal(archives().length, 1);
});

test('to S3, encrypted; an upload that is cut leaves nothing, and a changed one is noticed', async () => {
  const s3 = await startS3Server();
  const { SVC_FILES_KEY_ID = '', SVC_FILES_SECRET = '' } = s3.settings('x');
  const settings = {
    ...{ SVC_BACKUP_CRON: '0 3 * * *', SVC_BACKUP_TO: s3.url('backups'), SVC_BACKUP_PASSPHRASE: 'correct horse' },
    ...{ SVC_BACKUP_KEY_ID: SVC_FILES_KEY_ID, SVC_BACKUP_SECRET: SVC_FILES_SECRET, SVC_BACKUP_KEEP: '1d' },
  };
  const target = await startAppliance({ settings });
  const { client: key } = await aServerKey(target);
  (await key.post('/storage/buckets', { bucketId: 'b', name: 'B' })).expect(201);
  assert.equal((await run(target))?.error, null);
  const first = await last(target);
  assert.match(first?.file ?? '', /^s3:\/\/files\/backups\/svc-.*Z\.tar\.age\?endpoint=http%3A/);
  assert.ok(first?.verifiedAt);

  s3.intercept = (request, response) => {
    if (request.method !== 'PUT') return false;
    answerS3Error(response, 403, 'AccessDenied');
    return true;
  };
  target.clock.advance(day);
  const refused = await run(target);
  assert.match(refused?.error ?? '', /cannot be written: the key may not do this in the bucket\.$/);
  assert.deepEqual(s3.openUploads(), []);
  assert.deepEqual(await last(target), first);

  // The bytes that are read differ from those that were written.
  s3.intercept = (request, response) => {
    if (request.method !== 'GET' || !/\.age/.test(request.url ?? '')) return false;
    response.writeHead(200, { 'Content-Length': '7' });
    response.end('damaged');
    return true;
  };
  const damaged = await run(target);
  assert.match(damaged?.error ?? '', /has other bytes than were written\.$/);
  assert.deepEqual(await last(target), first);
  s3.intercept = () => false;
  target.clock.advance(day);
  assert.equal((await run(target))?.error, null);
});
