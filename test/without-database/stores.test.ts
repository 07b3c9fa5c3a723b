// The stores of files: the same promises over the disk and over S3, and copying from one to the other.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '#src/platform/config/load.js';
import {
  copyObjects,
  type FileStore,
  ObjectNotFoundError,
  openFileStore,
  openFileStoreAt,
} from '#src/platform/file-store/index.js';
import { createLog } from '#src/platform/runtime/log.js';
import { createTestClock } from '../harness/clock.js';
import { after } from '../harness/runner.js';
import { answerS3Error, startS3Server } from '../harness/s3-server.js';

const directory = mkdtempSync(join(tmpdir(), 'svc-stores-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const s3 = await startS3Server();
const lines: string[] = [];
const clock = createTestClock();
const log = createLog({ level: 'info', format: 'json', now: () => clock.now(), write: (text) => lines.push(text) });
const configOf = (settings: Record<string, string>) =>
  loadConfig({
    environment: {
      SVC_CONFIG: join(directory, 'none.env'),
      SVC_DATA_DIR: directory,
      SVC_MASTER_KEY: randomBytes(32).toString('base64url'),
      ...settings,
    },
  }).config;
const opened: FileStore[] = [];
after(() => Promise.all(opened.map((store) => store.close())));
const open = (settings: Record<string, string>): FileStore => {
  const store = openFileStore(configOf(settings), { log });
  opened.push(store);
  return store;
};
const disk = (name: string) => open({ SVC_FILES_URL: `file:${join(directory, name)}` });
const remote = (name: string) => open(s3.settings(name));

const mebibyte = 1024 * 1024;
async function* pieces(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
async function* failing(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
  throw new Error('the client has gone');
}
/** So many bytes that differ from each other, in pieces of 64 KiB. */
async function* many(bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += 65_536) yield Buffer.alloc(Math.min(65_536, bytes - at), at / 65_536);
}
async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = [];
  for await (const piece of stream) found.push(piece);
  return Buffer.concat(found);
}
async function digestOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of stream) hash.update(piece);
  return hash.digest('hex');
}
async function keysOf(store: FileStore, prefix = ''): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys.sort();
}

for (const [name, store] of [
  ['disk', disk('contract')],
  ['S3', remote('contract')],
] as const) {
  test(`${name}: an object is written, read in ranges, measured, listed and removed`, async () => {
    assert.equal(await store.write('p/b/one', pieces(Buffer.from('hello '), Buffer.from('world'))), 11);
    assert.equal(await store.write('p/b/empty', pieces()), 0);
    assert.equal(await store.write('p/bb/other', pieces(Buffer.from('x'))), 1);
    assert.equal((await bytesOf(await store.read('p/b/one'))).toString(), 'hello world');
    assert.equal((await bytesOf(await store.read('p/b/one', { start: 0, end: 0 }))).toString(), 'h');
    assert.equal((await bytesOf(await store.read('p/b/one', { start: 6, end: 10 }))).toString(), 'world');
    assert.equal((await bytesOf(await store.read('p/b/empty'))).length, 0);
    assert.equal(await store.size('p/b/one'), 11);
    assert.equal(await store.size('p/b/none'), undefined);
    await assert.rejects(store.read('p/b/none'), ObjectNotFoundError);
    assert.deepEqual(await keysOf(store, 'p/b'), ['p/b/empty', 'p/b/one'], 'p/bb is another directory');
    for await (const object of store.list('p/bb')) {
      assert.equal(object.size, 1);
      assert.ok(Math.abs(object.modifiedAt - Date.now()) < 60_000);
    }
    await store.write('p/b/one', pieces(Buffer.from('replaced')));
    assert.equal((await bytesOf(await store.read('p/b/one'))).toString(), 'replaced');
    for (const key of ['p/b/one', 'p/b/empty', 'p/bb/other', 'p/b/none']) await store.remove(key);
    assert.deepEqual(await keysOf(store), []);
    for (const key of ['../up', '/root', 'a//b', '', 'a/../b', 'a\0b'])
      await assert.rejects(store.write(key, pieces()));
  });

  test(`${name}: bytes that end in an error leave nothing, and an object keeps its old content`, async () => {
    await store.write('kept', pieces(Buffer.from('before')));
    await assert.rejects(store.write('kept', failing(Buffer.from('after'))), /the client has gone/);
    await assert.rejects(store.write('small', failing(Buffer.from('some'))), /the client has gone/);
    await assert.rejects(store.write('large', failing(Buffer.alloc(20 * mebibyte))), /the client has gone/);
    assert.deepEqual(await keysOf(store), ['kept']);
    assert.equal((await bytesOf(await store.read('kept'))).toString(), 'before');
    assert.deepEqual(s3.openUploads(), []);
    await store.remove('kept');
  });

  test(`${name}: large objects pass in little memory, and several at once stay apart`, async () => {
    const sizes = [8 * mebibyte, 8 * mebibyte + 1, 20 * mebibyte];
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    }, 5);
    const before = process.memoryUsage().arrayBuffers;
    await Promise.all(sizes.map((size) => store.write(`large-${size}`, many(size))));
    for (const size of sizes) {
      assert.equal(await store.size(`large-${size}`), size);
      assert.equal(await digestOf(await store.read(`large-${size}`)), await digestOf(many(size)));
    }
    clearInterval(timer);
    // The S3 server runs in this process, too.
    assert.ok(most - before < 64 * mebibyte, `${Math.round((most - before) / mebibyte)} MiB`);
    for (const size of sizes) await store.remove(`large-${size}`);
  });
}

test('S3: pieces of one byte cost no more than their bytes', async () => {
  const store = remote('tiny');
  const one = Buffer.from('x');
  async function* ones() {
    for (let count = 0; count < 50_000; count++) yield one;
  }
  assert.equal(await store.write('ones', ones()), 50_000);
  await store.remove('ones');
});

test('S3: an error of the service is reported to the operator once, without the secret', async () => {
  const { SVC_FILES_URL, SVC_FILES_KEY_ID, SVC_FILES_SECRET } = s3.settings('denied');
  // The server does not verify signatures itself.
  s3.intercept = (request, response) => {
    if (!request.url?.includes('/forged/')) return false;
    request.resume().on('end', () => answerS3Error(response, 403, 'SignatureDoesNotMatch'));
    return true;
  };
  const refused: [Record<string, string>, string, RegExp][] = [
    [
      { SVC_FILES_URL: s3.url('forged'), SVC_FILES_SECRET: 'not the secret' },
      'SignatureDoesNotMatch',
      /the secret is not that of the key id/,
    ],
    [{ SVC_FILES_KEY_ID: 'nobody' }, 'InvalidAccessKeyId', /the service does not know the key id/],
    [{ SVC_FILES_URL: s3.url('x').replace('s3://files', 's3://nowhere') }, 'NoSuchBucket', /there is no such bucket/],
    [{ SVC_FILES_URL: 's3://files/x?endpoint=http://127.0.0.1:1' }, 'ECONNREFUSED', /the connection was refused/],
  ];
  for (const [settings, code, reason] of refused) {
    const store = open({ SVC_FILES_URL, SVC_FILES_KEY_ID, SVC_FILES_SECRET, ...settings } as Record<string, string>);
    lines.length = 0;
    for (let count = 0; count < 2; count++)
      await assert.rejects(store.write('a', pieces(Buffer.from('x'))), { name: 'FileStoreError', code });
    log.flush();
    assert.equal(lines.join('').match(/files\.store-away/g)?.length, 1);
    assert.match(lines.join(''), reason);
    assert.doesNotMatch(lines.join(''), /not the secret|AWS4-HMAC/);
  }
});

test('S3: a request that fails once is made again, and an upload that fails for good is aborted', async () => {
  const store = remote('faults');
  let failures = 1;
  s3.intercept = (request, response) => {
    if (!/^PUT/.test(`${request.method}`) || failures-- <= 0) return false;
    request.resume().on('end', () => response.writeHead(503).end());
    return true;
  };
  assert.equal(await store.write('again', many(mebibyte)), mebibyte);
  assert.equal(await digestOf(await store.read('again')), await digestOf(many(mebibyte)));
  s3.intercept = (request, response) => {
    if (!/partNumber=2/.test(request.url ?? '')) return false;
    request.resume().on('end', () => response.writeHead(503).end());
    return true;
  };
  await assert.rejects(store.write('half', many(10 * mebibyte)), { name: 'FileStoreError' });
  s3.intercept = () => false;
  assert.deepEqual(s3.openUploads(), []);
  assert.deepEqual(await keysOf(store), ['again']);
});

test('S3: a part is sent again only for a while, and the client writes nothing itself', async (t) => {
  const written = t.mock.method(console, 'warn');
  const passed = t.mock.method(performance, 'now');
  let requests = 0;
  s3.intercept = (request) => {
    if (!/^PUT/.test(`${request.method}`)) return false;
    requests += 1;
    request.socket.destroy();
    return true;
  };
  await assert.rejects(remote('cut').write('some', many(4 * mebibyte)), { name: 'FileStoreError' });
  assert.equal(requests, 3);
  requests = 0;
  let now = 0;
  passed.mock.mockImplementation(() => (requests === 0 ? now++ : now + 31_000));
  await assert.rejects(remote('late').write('some', many(4 * mebibyte)), { name: 'FileStoreError' });
  assert.equal(requests, 1);
  assert.deepEqual(
    written.mock.calls.map(({ arguments: [text] }) => text),
    [],
  );
  s3.intercept = () => false;
});

test('S3: a list of more than one page is complete', async () => {
  const entry = (key: string) =>
    `<Contents><Key>pages/${key}</Key><Size>1</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>`;
  const pages = [`${entry('a/1')}${entry('a/2')}<NextContinuationToken>n+1</NextContinuationToken>`, entry('a/3')];
  s3.intercept = (request, response) => {
    const isSecond = request.url?.includes('continuation-token=n%2B1');
    response.writeHead(200, { 'Content-Type': 'application/xml' });
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult>${pages[isSecond ? 1 : 0]}</ListBucketResult>`,
    );
    return true;
  };
  assert.deepEqual(await keysOf(remote('pages')), ['a/1', 'a/2', 'a/3']);
  s3.intercept = () => false;
});

test('objects are copied while both stores are in use, and verified; a second run only copies new ones', async () => {
  const [from, to] = [disk('old'), remote('new')];
  for (const name of ['a', 'b', 'c']) await from.write(`p/${name}`, many(100_000));
  const progress = async () => {
    let last = { present: 0, copied: 0, bytes: 0, removed: 0 };
    for await (const step of copyObjects(from, to)) last = step;
    return last;
  };
  assert.deepEqual(await progress(), { present: 0, copied: 3, bytes: 300_000, removed: 0 });
  await from.write('p/d', pieces(Buffer.from('new')));
  await to.write('p/a', pieces(Buffer.from('cut off')));
  assert.deepEqual(await progress(), { present: 2, copied: 2, bytes: 100_003, removed: 0 });
  assert.equal(await digestOf(await to.read('p/a')), await digestOf(many(100_000)));

  // An object that vanishes while it is copied does not come back, and one whose copy differs is told.
  await from.write('p/e', pieces(Buffer.from('vanishes')));
  const vanishing = { ...from, read: (key: string) => from.read(key).finally(() => from.remove(key)) };
  for await (const step of copyObjects(vanishing, to)) assert.ok(step.removed <= 1);
  assert.equal(await to.size('p/e'), undefined);
  await from.write('p/f', pieces(Buffer.from('whole')));
  const lossy = { ...to, write: (key: string) => to.write(key, pieces(Buffer.from('whale'))) };
  await assert.rejects(async () => {
    for await (const _ of copyObjects(from, lossy));
  }, /copy-differs/);
  assert.equal(await to.size('p/f'), undefined);
});

test('between two stores, reads find objects in either, writes go to the new one, and a removal counts for both', async () => {
  const url = `file:${join(directory, 'before')}`;
  const old = disk('before');
  await old.write('p/old', pieces(Buffer.from('old')));
  const settings = { ...s3.settings('after'), SVC_FILES_FROM: url };
  const store = open(settings);
  await store.write('p/new', pieces(Buffer.from('new')));
  assert.equal((await bytesOf(await store.read('p/old'))).toString(), 'old');
  assert.equal(await store.size('p/old'), 3);
  assert.deepEqual(await keysOf(store), ['p/new', 'p/old']);
  assert.deepEqual(await keysOf(old), ['p/old']);
  const config = configOf(settings);
  const target = openFileStoreAt(config.filesUrl, config, { log });
  opened.push(target);
  for await (const _ of copyObjects(old, target));
  assert.deepEqual(await keysOf(store), ['p/new', 'p/old']);
  await store.remove('p/old');
  await assert.rejects(store.read('p/old'), ObjectNotFoundError);
  assert.deepEqual([await keysOf(old), await keysOf(target)], [[], ['p/new']]);
});

test('settings of the store that cannot be used are named', () => {
  const s3Url = 's3://files/x';
  const bad: [Record<string, string>, RegExp][] = [
    [{ SVC_FILES_URL: s3Url }, /SVC_FILES_KEY_ID is not set/],
    [{ SVC_FILES_URL: s3Url, SVC_FILES_KEY_ID: 'k' }, /SVC_FILES_SECRET is not set/],
    [{ ...s3.settings('x'), SVC_FILES_URL: `${s3Url}?endpoint=http://s3.example` }, /takes an https endpoint/],
    [{ ...s3.settings('x'), SVC_FILES_FROM: s3.url('x') }, /the same/],
    ...[
      's3://',
      's3://UPPER',
      's3://u:p@files',

      's3://files?other=1',
      's3://files?pathStyle=1',
      'ftp://x',
      'x',
    ].map((url): [Record<string, string>, RegExp] => [
      { ...s3.settings('x'), SVC_FILES_URL: url },
      /SVC_FILES_URL must be/,
    ]),
  ];
  for (const [settings, problem] of bad) assert.throws(() => configOf(settings), problem, JSON.stringify(settings));
});

test('the files of the disk store are for their owner only', () => {
  const [name = ''] = readdirSync(join(directory, 'old'));
  assert.equal(statSync(join(directory, 'old')).mode & 0o777, 0o700);
  assert.equal(statSync(join(directory, 'old', name)).mode & 0o777, 0o700);
});
