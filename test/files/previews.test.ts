// Files in S3 and previews of images, through the unmodified node-appwrite and by URL, on both stores.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, ID, ImageFormat, ImageGravity, Permission, Role, Storage, Tokens } from 'node-appwrite';
import { InputFile } from 'node-appwrite/file';
import sharp from 'sharp';
import { previewLimits } from '#src/contract/limits.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { startS3Server } from '../harness/s3-server.js';
import { aFileBackend, chunkBytes, someBytes, upload, uploadChunk } from './setup.js';

const s3 = await startS3Server();
const onDisk = await startAppliance();
const onS3 = await startAppliance({ settings: s3.settings('live') });

const sdkOf = async (target: TestAppliance) => {
  const { secret } = await aServerKey(target);
  const client = new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id).setKey(secret);
  return { storage: new Storage(client), tokens: new Tokens(client) };
};
const photo = (width = 300, height = 200) =>
  sharp({ create: { width, height, channels: 3, background: '#204060' } })
    .jpeg()
    .toBuffer();

test('node-appwrite uploads 12 MB to S3 and gets the same bytes, and deleted ones go', async () => {
  const { storage } = await sdkOf(onS3);
  const bytes = Buffer.from(someBytes(12_000_000));
  for (const [bucketId, encryption] of [
    ['plain', false],
    ['sealed', true],
  ] as const) {
    await storage.createBucket({ bucketId, name: 'Large', encryption });
    const file = InputFile.fromBuffer(bytes, 'large.bin');
    const { $id: fileId, chunksUploaded } = await storage.createFile({ bucketId, fileId: ID.unique(), file });
    assert.equal(chunksUploaded, 3);
    assert.ok(Buffer.from(await storage.getFileDownload({ bucketId, fileId })).equals(bytes), bucketId);
    const url = `${onS3.origin}/v1/storage/buckets/${bucketId}/files/${fileId}/download`;
    const headers = { 'X-Service-Project': onS3.project.id, Range: 'bytes=5242870-5242889' };
    assert.equal((await fetch(url, { headers })).status, 404, 'a guest may not read');
    await storage.updateBucket({ bucketId, name: 'Large', permissions: [Permission.read(Role.any())] });
    const range = Buffer.from(await (await fetch(url, { headers })).arrayBuffer());
    assert.ok(range.equals(bytes.subarray(5_242_870, 5_242_890)), 'a range over the end of a chunk');
    await storage.deleteFile({ bucketId, fileId });
  }
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of onS3.appliance.runtime.files.list('')) found.push(key);
    return found;
  };
  assert.equal((await keys()).length, 6);
  await onS3.appliance.features.jobs.run('files.sweep');
  assert.deepEqual(await keys(), []);
});

test('the bytes of a file are read once for its digests, however often its last chunk is sent concurrently', async () => {
  const { key, bucket } = await aFileBackend(onS3);
  const files = await bucket();
  const whole = someBytes(chunkBytes + 1);
  const given = { fileId: 'large', headers: { 'X-Appwrite-ID': 'large' } };
  (await uploadChunk(key, files, whole, 0, { fileId: 'large' })).expect(201);
  const held: (() => void)[] = [];
  const written = () => s3.requests.filter((one) => one.startsWith('PUT')).length;
  const before = written();
  s3.intercept = (request, response) => {
    const { server } = request.socket as unknown as { readonly server: Server };
    // Each repeated chunk is compared with the last part; the digests begin with the first.
    const isFirstPart = request.method === 'GET' && /\.0(\?|$)/.test(request.url ?? '');
    if (isFirstPart) held.push(() => server.emit('request', request, response));
    return isFirstPart;
  };
  const sent = Array.from({ length: 10 }, () => uploadChunk(key, files, whole, 1, given));
  while (written() < before + sent.length || held.length === 0) await sleep(20);
  await sleep(500);
  assert.equal(held.length, 1);
  s3.intercept = () => false;
  for (const release of held) release();
  for (const answer of await Promise.all(sent)) assert.equal(answer.expect(201).body.chunksUploaded, 2);
});

test('the preview of other bytes under the same id has another tag', async () => {
  const { key, bucket } = await aFileBackend(onDisk);
  const files = await bucket();
  let held = '"none"';
  for (const width of [300, 310]) {
    (await upload(key, files, await photo(width), { fileId: 'one', name: 'a.jpg' })).expect(201);
    const answer = await key.request('GET', `${files}/one/preview?width=50`, undefined, { 'If-None-Match': held });
    held = answer.expect(200).headers.get('etag') ?? '';
    (await key.delete(`${files}/one`)).expect(204);
  }
});

test('while the S3 service is away, uploads and downloads are 503, and later work again', async () => {
  const { key, bucket } = await aFileBackend(onS3);
  const files = await bucket();
  const kept = (await upload(key, files, 'before')).expect(201).string('$id');
  s3.intercept = (request) => {
    request.socket.destroy();
    return true;
  };
  for (const answer of [await upload(key, files, 'lost'), await key.get(`${files}/${kept}/download`)]) {
    answer.refused(503, 'general_unavailable');
    assert.ok(!answer.text.includes('127.0.0.1'));
  }
  s3.intercept = () => false;
  (await upload(key, files, 'again')).expect(201);
  assert.equal((await key.get(`${files}/${kept}/download`)).expect(200).text, 'before');
  const { total } = (await key.get(files)).expect(200).body as { total: number };
  assert.equal(total, 2, 'the upload that failed is no file');
});

for (const [name, target] of [
  ['disk', onDisk],
  ['S3', onS3],
] as const) {
  test(`${name}: node-appwrite gets previews`, async () => {
    const { storage } = await sdkOf(target);
    const bucketId = 'pictures';
    await storage.createBucket({ bucketId, name: 'Pictures' });
    const file = InputFile.fromBuffer(await photo(), 'photo.jpg');
    const { $id: fileId } = await storage.createFile({ bucketId, fileId: 'photo', file });
    const shown = await storage.getFilePreview({
      bucketId,
      fileId,
      width: 64,
      height: 64,
      gravity: ImageGravity.Topleft,
      quality: 80,
      borderWidth: 2,
      borderColor: 'ff0000',
      borderRadius: 8,
      opacity: 0.5,
      rotation: 90,
      background: 'ffffff',
      output: ImageFormat.Webp,
    });
    const { format, width, height } = await sharp(Buffer.from(shown)).metadata();
    assert.deepEqual([format, width, height], ['webp', 68, 68]);
    const usual = await sharp(Buffer.from(await storage.getFilePreview({ bucketId, fileId }))).metadata();
    assert.deepEqual([usual.format, usual.width, usual.height], ['jpeg', 300, 200]);
    await storage.deleteFile({ bucketId, fileId });
    await assert.rejects(storage.getFilePreview({ bucketId, fileId }), { type: 'storage_file_not_found' });
    await storage.deleteBucket({ bucketId });
  });
}

test('a preview is for readers of the file, is cached, and goes with the file', async () => {
  const target = onDisk;
  // What other tests have left.
  await target.appliance.features.jobs.run('files.sweep');
  const { key, bucket } = await aFileBackend(target);
  const files = await bucket({ fileSecurity: true });
  const [reader, other] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const id = (await upload(key, files, await photo(), { name: 'a"b.jpg', permissions: [`read("user:${reader.id}")`] }))
    .expect(201)
    .string('$id');
  const path = `${files}/${id}/preview?width=50`;
  const answer = (await reader.client.get(path)).expect(200);
  assert.equal(answer.headers.get('content-type'), 'image/jpeg');
  assert.match(answer.headers.get('content-disposition') ?? '', /^inline; filename="[^"]*\.jpg"; filename\*=/);
  assert.match(answer.headers.get('content-security-policy') ?? '', /sandbox/);
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  assert.match(answer.headers.get('cache-control') ?? '', /^private/);
  (await other.client.get(path)).refused(404, 'storage_file_not_found');
  (await createClient(target).get(path)).refused(404, 'storage_file_not_found');
  const { tokens } = await sdkOf(target);
  const bucketId = files.split('/')[3] ?? '';
  const { secret } = await tokens.createFileToken({ bucketId, fileId: id });
  (await createClient(target).get(`${path}&token=${secret}`)).expect(200);
  const etag = answer.headers.get('etag') ?? '';
  (await reader.client.request('GET', path, undefined, { 'If-None-Match': etag })).expect(304);

  const directory = join(target.appliance.runtime.config.dataDir, 'previews');
  const kept = () => readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((one) => one.includes('/'));
  assert.equal(kept().length, 1);
  // Kept ones are encrypted, and one that was changed is made anew.
  assert.ok(!readFileSync(join(directory, kept()[0] ?? '')).includes('JFIF'));
  assert.equal((await reader.client.get(path)).expect(200).headers.get('etag'), etag);
  (await reader.client.get(`${files}/${id}/preview?width=51`)).expect(200);
  assert.equal(kept().length, 2);
  (await key.delete(`${files}/${id}`)).expect(204);
  await target.appliance.features.jobs.run('files.sweep');
  assert.deepEqual(kept(), []);
});

test('previews whose readers do not read take a bounded share of the memory', async () => {
  const { key, bucket } = await aFileBackend(onDisk);
  const files = await bucket({ permissions: ['read("any")'] });
  // Noise does not compress: the preview has about 13 MB.
  const noise = await sharp(someBytes(2100 * 2100 * 3), { raw: { width: 2100, height: 2100, channels: 3 } })
    .jpeg({ quality: 30 })
    .toBuffer();
  const id = (await upload(key, files, noise, { name: 'noise.jpg' })).expect(201).string('$id');
  const path = `${files}/${id}/preview?output=png`;
  const size = Number((await key.request('HEAD', path)).expect(200).headers.get('content-length'));
  assert.ok(size > 12_000_000 && size < 16_000_000, `${size}`);

  const { hostname, port } = new URL(onDisk.origin);
  const sockets: Socket[] = [];
  const askWithoutReading = async (): Promise<number> => {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.write(`GET /v1${path}&project=${onDisk.project.id} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    return Number(head.subarray(9, 12).toString());
  };
  const statuses: number[] = [];
  for (let count = 0; count < 8; count++) statuses.push(await askWithoutReading());
  const share = Math.floor(previewLimits.heldBytesOfCaller / size);
  assert.deepEqual(
    statuses,
    statuses.map((_, at) => (at < share ? 200 : 503)),
  );
  const guest = createClient(onDisk);
  (await guest.get(`${files}/${id}/preview?width=20`)).expect(200);
  (await key.get(path)).expect(200);
  for (const socket of sockets) socket.destroy();
  for (let count = 0; (await guest.get(path)).status !== 200; count++) {
    assert.ok(count < 100, 'the memory was not given back');
    await sleep(20);
  }
});

test('a file that is not an image, a hostile image and an invalid request get a clear error', async () => {
  const { key, bucket } = await aFileBackend(onDisk);
  const files = await bucket();
  const preview = async (bytes: Uint8Array | string, fileName: string, query = 'width=10') => {
    const id = (await upload(key, files, bytes, { name: fileName })).expect(201).string('$id');
    return key.get(`${files}/${id}/preview?${query}`);
  };
  const jpeg = await photo();
  const bomb = Buffer.from(
    await sharp({ create: { width: 8000, height: 8000, channels: 3, background: 'red' } })
      .png()
      .toBuffer(),
  );
  const svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script/></svg>';
  const unsupported: [Uint8Array | string, string][] = [
    ['hello', 'a.jpg'],
    [svg, 'a.svg'],
    [svg, 'a.png'],
    [jpeg.subarray(0, 300), 'cut.jpg'],
    [await sharp(jpeg).tiff().toBuffer(), 'a.tiff'],
  ];
  for (const [bytes, fileName] of unsupported)
    (await preview(bytes, fileName)).refused(400, 'storage_file_type_unsupported');
  (await preview(bomb, 'bomb.png')).refused(400, 'storage_image_resolution_exceeded');
  // Fewer pixels than the limit, in one line.
  const line = await sharp({ create: { width: 66_000, height: 1, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const { body } = (await preview(line, 'line.png')).refused(400, 'storage_image_resolution_exceeded');
  assert.match(String(body.message), /a longer side/);
  const wrong = [
    'width=4001',
    'height=-1',
    'width=x',
    'gravity=middle',
    'quality=101',
    'borderColor=red',
    'opacity=2',
    'rotation=361',
  ];
  for (const query of [...wrong, 'output=heic', 'output=svg', 'background=%23ffffff'])
    (await preview(jpeg, 'a.jpg', query)).refused(400, 'general_argument_invalid');

  const closed = await bucket({ transformations: false });
  const id = (await upload(key, closed, jpeg, { name: 'a.jpg' })).expect(201).string('$id');
  (await key.get(`${closed}/${id}/preview`)).refused(403, 'storage_bucket_transformations_disabled');
});
