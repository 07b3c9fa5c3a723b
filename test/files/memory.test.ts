// The memory of a server through which large files pass, from the unmodified node-appwrite and by ranges, on both stores.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, Storage } from 'node-appwrite';
import { InputFile } from 'node-appwrite/file';
import { type Installation, install } from '../harness/cli.js';
import { residentBytes } from '../harness/memory.js';
import { after } from '../harness/runner.js';
import { startS3Server } from '../harness/s3-server.js';
import { someBytes } from './setup.js';

const mebibyte = 1024 * 1024;
const size = 200_000_000;
const readers = 8;
/** By so much the server may grow from what it has once its first files have passed. */
const most = 64 * mebibyte;

/** The most memory that a process has until it is told to stop looking. */
function watch(pid: number): () => number {
  let highest = 0;
  const look = () => {
    highest = Math.max(highest, residentBytes(pid));
  };
  const timer = setInterval(look, 20);
  return () => {
    clearInterval(timer);
    look();
    return highest;
  };
}

async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('md5');
  for await (const piece of bytes) hash.update(piece);
  return hash.digest('hex');
}

const s3 = await startS3Server();

for (const [name, settings] of [
  ['disk', {}],
  ['S3', s3.settings('memory')],
] as const) {
  test(`${name}: 200 MB come and go, eight parts at once, and the server grows by less than 64 MiB`, {
    skip: process.platform !== 'linux' && 'memory is read from /proc',
  }, async (t) => {
    const place = await install();
    after(() => place.dispose());
    const { storage, url, headers, pid } = await serve(place, settings);
    const bucket = { bucketId: 'large', name: 'Large', maximumFileSize: size, encryption: name === 'disk' };
    await storage.createBucket(bucket);
    const [small, large] = [join(place.dir, 'small.bin'), join(place.dir, 'large.bin')];
    const block = someBytes(10_000_000);
    writeFileSync(small, block);
    for (let at = 0; at < size; at += block.length) writeFileSync(large, block, { flag: 'a' });

    const send = async (fileId: string, path: string) => {
      const file = await storage.createFile({
        ...{ bucketId: 'large', fileId, file: InputFile.fromPath(path, 'a.bin') },
      });
      assert.equal(file.chunksUploaded, file.chunksTotal);
      assert.equal(file.signature, await digestOf(createReadStream(path)));
    };
    const fetchRange = async (fileId: string, path: string, start: number, end: number) => {
      const range = await fetch(`${url}/storage/buckets/large/files/${fileId}/download`, {
        headers: { ...headers, Range: `bytes=${start}-${end}` },
      });
      assert.equal(range.status, 206);
      assert.ok(range.body);
      const expected = createReadStream(path, { start, end });
      assert.equal(await digestOf(range.body), await digestOf(expected), `${start}-${end}`);
    };
    const receive = async (fileId: string, path: string) => {
      const got = Buffer.from(await storage.getFileDownload({ bucketId: 'large', fileId }));
      assert.equal(createHash('md5').update(got).digest('hex'), await digestOf(createReadStream(path)));
      const part = Math.ceil(got.length / readers);
      await Promise.all(
        Array.from({ length: readers }, (_, at) =>
          fetchRange(fileId, path, at * part, Math.min((at + 1) * part, got.length) - 1),
        ),
      );
    };
    const idle = residentBytes(pid);
    // A server that has been used: what its first transfers load and compile is no growth of the large one.
    for (const fileId of ['first', 'second']) {
      await send(fileId, small);
      await receive(fileId, small);
    }
    const before = residentBytes(pid);
    const seen = watch(pid);
    await send('large', large);
    const up = seen();
    const seenDown = watch(pid);
    await receive('large', large);
    const down = seenDown();
    t.diagnostic(`MiB: ${[idle, before, up, down].map((n) => Math.round(n / mebibyte)).join(' ')}`);
    const grown = Math.max(up, down) - before;
    assert.ok(grown < most, `${Math.round(grown / mebibyte)} MiB more than ${Math.round(before / mebibyte)} MiB`);
  });
}

/** A server with a key of every scope, and its client. */
async function serve(place: Installation, settings: Readonly<Record<string, string>>) {
  Object.assign(place.env, { SVC_RATE_LIMIT: 'off', SVC_LOG_LEVEL: 'warn', ...settings });
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const scopes = ['--name', 'test', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(['apikey', 'create', '--project', 'shop', ...scopes]);
  const { url, pid } = await place.serve();
  const client = new Client().setEndpoint(url).setProject('shop').setKey(secret);
  return { storage: new Storage(client), url, pid, headers: { 'X-Service-Project': 'shop', 'X-Service-Key': secret } };
}
