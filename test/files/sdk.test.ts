// Files through the unmodified node-appwrite.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Client, Compression, ID, Permission, Role, Storage, Tokens } from 'node-appwrite';
import { InputFile } from 'node-appwrite/file';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { someBytes } from './setup.js';

const target = await startAppliance();
const { secret } = await aServerKey(target);
const client = () => new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
const storage = new Storage(client().setKey(secret));
const guest = new Storage(client());

test('node-appwrite manages buckets', async () => {
  const made = await storage.createBucket({ bucketId: 'docs', name: 'Docs', allowedFileExtensions: ['txt'] });
  assert.deepEqual([made.$id, made.enabled, made.maximumFileSize, made.totalSize], ['docs', true, 30_000_000, 0]);
  const changed = await storage.updateBucket({ bucketId: 'docs', name: 'Papers', compression: Compression.Gzip });
  assert.deepEqual([changed.name, changed.compression, changed.allowedFileExtensions], ['Papers', 'gzip', ['txt']]);
  assert.deepEqual(
    (await storage.listBuckets()).buckets.map(({ name }) => name),
    ['Papers'],
  );
  assert.equal((await storage.getBucket({ bucketId: 'docs' })).name, 'Papers');
  await storage.deleteBucket({ bucketId: 'docs' });
  await assert.rejects(storage.getBucket({ bucketId: 'docs' }), { type: 'storage_bucket_not_found' });
});

for (const [compression, encryption] of [
  ['none', false],
  ['gzip', true],
] as const) {
  test(`node-appwrite uploads 12 MB in chunks and gets the same bytes (${compression}, encryption ${encryption})`, async () => {
    const bucketId = `big-${compression}`;
    await storage.createBucket({ bucketId, name: 'Big', compression: compression as Compression, encryption });
    const bytes = Buffer.from(someBytes(12_000_000));
    const progress: number[] = [];
    const file = await storage.createFile({
      bucketId,
      fileId: ID.unique(),
      file: InputFile.fromBuffer(bytes, 'big.bin'),
      permissions: [Permission.read(Role.any())],
      onProgress: ({ chunksUploaded }) => progress.push(chunksUploaded),
    });
    assert.deepEqual([file.chunksTotal, file.chunksUploaded, file.sizeOriginal], [3, 3, 12_000_000]);
    assert.equal(file.signature, createHash('md5').update(bytes).digest('hex'));
    assert.equal(progress.length, 3);
    const got = Buffer.from(await storage.getFileDownload({ bucketId, fileId: file.$id }));
    assert.ok(got.equals(bytes));
    const [listed] = (await storage.listFiles({ bucketId })).files;
    assert.deepEqual(listed, await storage.getFile({ bucketId, fileId: file.$id }));
    const renamed = await storage.updateFile({ bucketId, fileId: file.$id, name: 'other.bin' });
    assert.deepEqual([renamed.name, renamed.$permissions], ['other.bin', ['read("any")']]);
    await assert.rejects(guest.getFileView({ bucketId, fileId: file.$id }), { type: 'storage_file_not_found' });

    const tokens = new Tokens(client().setKey(secret));
    const token = await tokens.createFileToken({ bucketId, fileId: file.$id });
    const url = `${target.origin}/v1/storage/buckets/${bucketId}/files/${file.$id}/view?project=${target.project.id}`;
    const opened = await fetch(`${url}&token=${token.secret}`);
    // Read the body: a server that stops waits until a download is sent.
    assert.deepEqual([opened.status, (await opened.arrayBuffer()).byteLength], [200, 12_000_000]);
    assert.equal((await tokens.list({ bucketId, fileId: file.$id })).tokens[0]?.secret, token.secret);
    await tokens.delete({ tokenId: token.$id });
    assert.equal((await fetch(`${url}&token=${token.secret}`)).status, 404);
    await storage.deleteFile({ bucketId, fileId: file.$id });
    await assert.rejects(storage.getFile({ bucketId, fileId: file.$id }), { type: 'storage_file_not_found' });
  });
}
