// What happens while a backup is read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backupEntries } from '#src/features/index.js';
import { wholeOf } from '#src/platform/archive/reader.js';
import type { ArchiveEntry } from '#src/platform/archive/writer.js';
import { upload } from '../files/setup.js';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';

test('a file that is deleted during a backup is in it, and its bytes are removed afterwards', async () => {
  const target = await startAppliance();
  const { features, runtime } = target.appliance;
  const { client: key } = await aServerKey(target);
  (await key.post('/storage/buckets', { bucketId: 'b', name: 'B' })).expect(201);
  (await upload(key, '/storage/buckets/b/files', 'some bytes', { fileId: 'f' })).expect(201);
  await runSql(target, 'create table of_another_program (id text)');
  assert.equal((await objects()).length, 1);

  let isDone = false;
  const by = { projectId: null, actor: { kind: 'operator', id: 'cli' }, requestId: '' };
  const options = {
    version: '1',
    createdAt: '2026-01-01T00:00:00.000Z',
    settings: {},
    hasFiles: true,
    by,
    onProgress: () => {},
  };
  const entries = backupEntries(runtime, options, () => {
    isDone = true;
  });
  const read: ArchiveEntry[] = [];
  const first = await entries.next();
  assert.ok(!first.done);
  const head = JSON.parse((await wholeOf(first.value)).toString());
  assert.ok(!JSON.stringify(head).includes('of_another_program'));
  (await key.delete('/storage/buckets/b/files/f')).expect(204);
  target.clock.advance(60_000);
  await features.jobs.run('files.sweep');
  assert.equal((await objects()).length, 1);
  for await (const entry of entries) {
    read.push(entry);
    for await (const _ of entry.bytes);
  }
  assert.ok(isDone);
  assert.equal(read.filter(({ name }) => name.startsWith('files/')).length, 1);

  await features.jobs.run('files.sweep');
  assert.deepEqual(await objects(), []);

  async function objects(): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key: name } of runtime.files.list('')) keys.push(name);
    return keys;
  }
});
