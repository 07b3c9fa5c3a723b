// Files in an S3 server that nobody here wrote: Versity's gateway, over a directory. It checks signatures and checksums.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Compression, Storage } from 'node-appwrite';
import { InputFile } from 'node-appwrite/file';
import { someBytes } from '../files/setup.js';
import { freePort } from '../harness/free-port.js';
import { after } from '../harness/runner.js';
import { lacks, serveWorld, startServer } from './world.js';

const program = process.env.SVC_TEST_VERSITYGW ?? 'versitygw';
const skip = lacks(program, ['--version'], 'versitygw');

test('files in S3: whole and in chunks, ranges, deletions, and a move back to a directory', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-s3-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'files'));
  const origin = `http://127.0.0.1:${await freePort()}`;
  const listen = ['--port', new URL(origin).host, '--access', 'world', '--secret', 'a secret', '--quiet'];
  await startServer(program, [...listen, 'posix', folder], origin);
  const objects = () =>
    readdirSync(join(folder, 'files'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  // A job that runs every minute removes the objects of deleted files.
  const untilLeft = async (count: number) => {
    while (objects().length > count) await sleep(500);
    assert.equal(objects().length, count);
  };

  const settings = { SVC_FILES_KEY_ID: 'world', SVC_FILES_SECRET: 'a secret' };
  const url = `s3://files/of-svc?endpoint=${encodeURIComponent(origin)}`;
  const { place, endpoint, project, key } = await serveWorld({ ...settings, SVC_FILES_URL: url });
  const checked = await place.svc(['config', 'check']);
  assert.equal(checked.code, 0, checked.err);
  const wrong = await place.svc(['config', 'check'], { env: { SVC_FILES_SECRET: 'another' } });
  assert.match(wrong.err, /SVC_FILES_URL names a store that cannot be used: the secret is not that of the key id/);

  const storage = new Storage(new Client().setEndpoint(endpoint).setProject(project).setKey(key));
  const headers = { 'X-Appwrite-Project': project, 'X-Appwrite-Key': key };
  for (const compression of [Compression.None, Compression.Gzip]) {
    await storage.createBucket({ bucketId: compression, name: compression, compression, encryption: false });
    const files = `${endpoint}/storage/buckets/${compression}/files`;
    const large = Buffer.from(someBytes(20_000_000));
    const form = new FormData();
    form.set('fileId', 'whole');
    form.set('file', new Blob([large]), 'whole.bin');
    const uploaded = await fetch(files, { method: 'POST', headers, body: form });
    assert.equal(uploaded.status, 201, await uploaded.text());
    const chunked = { bucketId: compression, fileId: 'chunks', file: InputFile.fromBuffer(large, 'chunks.bin') };
    await storage.createFile(chunked);
    for (const id of ['whole', 'chunks'])
      for (const [range, from, to] of [
        ['bytes=0-', 0, large.length],
        ['bytes=9999990-15000009', 9_999_990, 15_000_010],
        ['bytes=-5', large.length - 5, large.length],
      ] as const) {
        const answer = await fetch(`${files}/${id}/view`, { headers: { ...headers, Range: range } });
        assert.ok(Buffer.from(await answer.arrayBuffer()).equals(large.subarray(from, to)), `${id} ${range}`);
      }
    await storage.deleteFile({ bucketId: compression, fileId: 'chunks' });
  }
  const cut = new ReadableStream({
    start: (controller) => {
      controller.enqueue(Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`));
      controller.enqueue(someBytes(9_000_000));
      controller.close();
    },
  });
  const type = { 'Content-Type': 'multipart/form-data; boundary=b' };
  const broken = await fetch(`${endpoint}/storage/buckets/none/files`, {
    method: 'POST',
    headers: { ...headers, ...type },
    body: cut,
    duplex: 'half',
  } as RequestInit);
  assert.equal(broken.status, 400);
  await untilLeft(2);

  const moved = await place.json<{ copied: number }>(['files', 'move', '--to', `file:${join(place.dir, 'moved')}`]);
  assert.equal(moved.copied, 2);
  for (const bucketId of ['none', 'gzip']) await storage.deleteFile({ bucketId, fileId: 'whole' });
  await untilLeft(0);
});
