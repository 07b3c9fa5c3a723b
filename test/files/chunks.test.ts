// Chunks that meet a change: of their bucket, of the upload they belong to, or of the bytes they repeat. What is answered 201 is in the file.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { fileLimits } from '#src/contract/limits.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { changeSettings } from '../harness/project.js';
import { aFileBackend, beginChunk, chunkBytes, someBytes, upload, uploadChunk } from './setup.js';

const target = await startAppliance();
const { key, secret, bucket, bytesOf, nothingStays } = await aFileBackend(target);
const { files: store } = target.appliance.runtime;
const [first, second] = [someBytes(2 * chunkBytes + 17), someBytes(2 * chunkBytes + 17, 2)];
const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex');
const ofUpload = (fileId: string) => ({ headers: { 'X-Service-Id': fileId } });
const bucketOf = (files: string) => files.replace('/files', '');

const settings = [
  [{ encryption: true }, { encryption: false }],
  [{ encryption: false }, { encryption: true }],
  [
    { encryption: false, compression: 'gzip' },
    { encryption: false, compression: 'none' },
  ],
  [
    { encryption: false, compression: 'none' },
    { encryption: false, compression: 'gzip' },
  ],
];
for (const [before, after] of settings)
  test(`a chunk that was written for ${JSON.stringify(before)} is in no file of ${JSON.stringify(after)}`, async () => {
    const files = await bucket(before);
    const whole = someBytes(chunkBytes + 1000);
    const slow = await beginChunk(target, secret, files, whole, 0, { fileId: 'one' });
    (await key.put(bucketOf(files), { name: 'Test', ...after })).expect(200);
    (await uploadChunk(key, files, whole, 1, { fileId: 'one' })).expect(201);
    const refused = (await slow.finish()).refused(503, 'general_unavailable');
    assert.match(refused.headers.get('Retry-After') ?? '', /^[1-9]\d?$/);
    // The same request again, without the header of further chunks.
    const again = (await uploadChunk(key, files, whole, 0, { fileId: 'one' })).expect(201);
    assert.deepEqual([again.body.chunksUploaded, again.body.signature], [2, md5(whole)]);
    assert.ok((await bytesOf(files, 'one')).equals(whole));
    await nothingStays(files);
  });

test('first chunks of a new id may come at the same time', async () => {
  const files = await bucket({ permissions: ['create("users")'] });
  const ada = await aLoggedInUser(target);
  for (const caller of [key, ada.client])
    for (let round = 0; round < 3; round++) {
      const fileId = `of-${caller === key ? 'key' : 'ada'}-${round}`;
      const answers = await Promise.all(
        [0, 1, 2, 1].map((number) => uploadChunk(caller, files, first, number, { fileId })),
      );
      for (const answer of answers) answer.expect(201);
      assert.ok((await bytesOf(files, fileId)).equals(first));
    }
  await nothingStays(files);
});

test('a first chunk may name its own new id in the header, as the SDK for Python does, and no other', async () => {
  const files = await bucket();
  const other = await uploadChunk(key, files, first, 0, { fileId: 'own', ...ofUpload('other') });
  other.refused(404, 'storage_file_not_found');
  (await uploadChunk(key, files, first, 0, { fileId: 'own', ...ofUpload('own') })).expect(201);
  (await uploadChunk(key, files, first, 1, { fileId: 'own', ...ofUpload('own') })).expect(201);
  (await uploadChunk(key, files, first, 2, { fileId: 'own', ...ofUpload('own') })).expect(201);
  assert.ok((await bytesOf(files, 'own')).equals(first));
  (await key.delete(`${files}/own`)).expect(204);
});

test('first chunks of a new id at once, and one after the bucket has changed, make one file', async () => {
  const files = await bucket({ encryption: true });
  const slow = await beginChunk(target, secret, files, first, 0, { fileId: 'one' });
  (await uploadChunk(key, files, first, 1, { fileId: 'one' })).expect(201);
  (await slow.finish()).expect(201);
  (await key.put(bucketOf(files), { name: 'Test', encryption: false })).expect(200);
  (await uploadChunk(key, files, first, 2, { fileId: 'one' })).expect(201);
  assert.ok((await bytesOf(files, 'one')).equals(first));
  await nothingStays(files);
});

for (const [name, given] of [
  ['the id of its upload', { fileId: 'one', ...ofUpload('one') }],
  ['the id in the form alone', { fileId: 'one' }],
] as const)
  test(`a chunk with ${name} that ends after its upload was deleted is in no later upload of the id`, async () => {
    const files = await bucket();
    (await uploadChunk(key, files, first, 0, { fileId: 'one' })).expect(201);
    const late = await beginChunk(target, secret, files, first, 1, given);
    const none = await beginChunk(target, secret, files, first, 1, given);
    (await key.delete(`${files}/one`)).expect(204);
    (await none.finish()).refused(404, 'storage_file_not_found');
    (await key.get(`${files}/one`)).refused(404, 'storage_file_not_found');
    (await uploadChunk(key, files, second, 0, { fileId: 'one' })).expect(201);
    (await late.finish()).refused(404, 'storage_file_not_found');
    (await uploadChunk(key, files, second, 1, ofUpload('one'))).expect(201);
    const last = (await uploadChunk(key, files, second, 2, ofUpload('one'))).expect(201);
    assert.equal(last.body.signature, md5(second));
    assert.ok((await bytesOf(files, 'one')).equals(second));
    await nothingStays(files);
  });

test('an upload that is deleted while its last chunk completes it completes no later upload of the id', async () => {
  const files = await bucket();
  const whole = first.subarray(0, chunkBytes + 17);
  (await uploadChunk(key, files, whole, 0, { fileId: 'one' })).expect(201);
  const { read } = store;
  const reads = new EventEmitter();
  store.read = async (...given) => {
    const goesOn = once(reads, 'go on');
    reads.emit('begun');
    await goesOn;
    return read.apply(store, given);
  };
  try {
    const begun = once(reads, 'begun');
    const last = uploadChunk(key, files, whole, 1, ofUpload('one'));
    await begun;
    store.read = read;
    (await key.delete(`${files}/one`)).expect(204);
    (await uploadChunk(key, files, second.subarray(0, whole.length), 0, { fileId: 'one' })).expect(201);
    reads.emit('go on');
    (await last).refused(404, 'storage_file_not_found');
  } finally {
    store.read = read;
  }
  (await key.get(`${files}/one/download`)).refused(404, 'storage_file_not_found');
  assert.equal((await key.get(`${files}/one`)).body.chunksUploaded, 1);
  await nothingStays(files);
});

test('the type of a file is told by its first chunk, whichever comes last', async () => {
  const files = await bucket();
  const whole = Buffer.concat([Buffer.from('%PDF-1.7\n'), first.subarray(0, chunkBytes + 17)]);
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const fileId = `file-${order[0]}`;
    for (const number of order) (await uploadChunk(key, files, whole, number, { fileId })).expect(201);
    assert.equal((await key.get(`${files}/${fileId}`)).expect(200).body.mimeType, 'application/pdf');
  }
  await nothingStays(files);
});

test('a chunk that ends after its bucket was deleted is refused', async () => {
  for (const [given, next] of [
    [ofUpload('one'), undefined],
    [{ fileId: 'two' }, undefined],
    [ofUpload('one'), 'made anew'],
  ] as const) {
    const files = await bucket();
    (await uploadChunk(key, files, first, 0, { fileId: 'one' })).expect(201);
    const late = await beginChunk(target, secret, files, first, 1, given);
    (await key.delete(bucketOf(files))).expect(204);
    if (next !== undefined) await bucket({ bucketId: files.split('/')[3] });
    (await late.finish()).refused(404, 'storage_bucket_not_found');
    await nothingStays(files);
  }
});

test('a chunk that is there already is taken again with the same bytes only', async () => {
  const files = await bucket({ permissions: ['create("any")'] });
  const guest = createClient(target);
  const id = '0123456789abcdef0123';
  for (const caller of [key, guest]) {
    const whole = first.subarray(0, chunkBytes + 500);
    const other = second.subarray(0, whole.length);
    const refusesOther = async (number: number) => {
      for (const given of [{ fileId: id }, { fileId: 'one', ...ofUpload(id) }])
        (await uploadChunk(caller, files, other, number, given)).refused(409, 'storage_file_already_exists');
    };
    (await uploadChunk(caller, files, whole, 0, { fileId: id })).expect(201);
    await refusesOther(0);
    (await uploadChunk(caller, files, whole, 0, { fileId: id })).expect(201);
    (await uploadChunk(caller, files, whole, 1, ofUpload(id))).expect(201);
    for (const number of [0, 1]) {
      await refusesOther(number);
      const again = (await uploadChunk(caller, files, whole, number, ofUpload(id))).expect(201);
      assert.equal(again.body.signature, md5(whole));
    }
    assert.ok((await bytesOf(files, id)).equals(whole));
    (await key.delete(`${files}/${id}`)).expect(204);
  }
  await nothingStays(files);
});

test('a chunk is no way around a file that has its id and size', async () => {
  for (const given of [{}, { encryption: false, compression: 'gzip' }]) {
    const files = await bucket(given);
    for (const size of [500, chunkBytes + 500]) {
      const [old, other] = [first.subarray(0, size), second.subarray(0, size)];
      (await upload(key, files, old, { fileId: `of-${size}` })).expect(201);
      for (const number of size === 500 ? [0] : [0, 1])
        (await uploadChunk(key, files, other, number, { fileId: `of-${size}` })).refused(
          409,
          'storage_file_already_exists',
        );
      assert.ok((await bytesOf(files, `of-${size}`)).equals(old));
    }
    await nothingStays(files);
  }
});

test('unfinished uploads are limited for each user and guest, and use no quota of others', async () => {
  const { unfinishedOfCreator, idleSeconds } = fileLimits;
  const [files, next] = [
    await bucket({ permissions: ['create("any")'] }),
    await bucket({ permissions: ['create("any")'] }),
  ];
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const two = first.subarray(0, chunkBytes + 1);
  const idOf = (at: number | string) => createHash('sha256').update(String(at)).digest('hex').slice(0, 20);
  const begin = (caller: Client, at: number | string, where = files) =>
    uploadChunk(caller, where, two, 1, { fileId: idOf(at) });
  for (const caller of [ada.client, createClient(target)]) {
    const name = caller === ada.client ? 'ada' : 'guest';
    for (let at = 0; at < unfinishedOfCreator; at++) (await begin(caller, `${name}-${at}`)).expect(201);
    (await begin(caller, `${name}-more`)).refused(429, 'general_rate_limit_exceeded');
    const refused = (await begin(caller, `${name}-more`, next)).refused(429, 'general_rate_limit_exceeded');
    const seconds = Number(refused.headers.get('Retry-After'));
    assert.ok(seconds > 0 && seconds <= idleSeconds, `${seconds}`);
    // What is no upload in chunks needs no such room, and others have theirs.
    (await upload(caller, files, 'text')).expect(201);
    (await uploadChunk(caller, files, two.subarray(0, 500), 0)).expect(201);
    for (const other of [bob.client, key]) (await begin(other, `beside-${name}-${other === key}`)).expect(201);
    (await uploadChunk(caller, files, two, 0, ofUpload(idOf(`${name}-0`)))).expect(201);
    (await begin(caller, `${name}-more`)).expect(201);
  }
  const refused = (await begin(ada.client, 'late')).refused(429, 'general_rate_limit_exceeded');
  target.clock.advance(Number(refused.headers.get('Retry-After')) * 1000);
  // The one that has got no chunk for longest makes room, and no other.
  (await begin(ada.client, 'late')).expect(201);
  (await uploadChunk(ada.client, files, two, 0, ofUpload(idOf('ada-1')))).refused(404, 'storage_file_not_found');
  (await uploadChunk(ada.client, files, two, 0, ofUpload(idOf('ada-2')))).expect(201);
  (await key.delete(next.replace('/files', ''))).expect(204);
  await nothingStays(files);
});

test('uploads that are not finished reserve a tenth of the room of a project, or one file', async () => {
  const files = await bucket({ permissions: ['create("users")'] });
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const two = first.subarray(0, chunkBytes + 1);
  await changeSettings(target, { 'files.maxBytes': 10 * chunkBytes });
  target.clock.advance(1000);
  for (const caller of [ada.client, bob.client]) {
    const id = (await uploadChunk(caller, files, two, 1)).expect(201).string('$id');
    (await uploadChunk(caller, files, two, 1)).refused(429, 'general_rate_limit_exceeded');
    (await uploadChunk(caller, files, two, 0, ofUpload(id))).expect(201);
    (await uploadChunk(caller, files, two, 1)).expect(201);
  }
  for (let count = 0; count < 3; count++) (await uploadChunk(key, files, two, 1)).expect(201);
  await changeSettings(target, { 'files.maxBytes': 10_000_000_000 });
  target.clock.advance(1000);
  await nothingStays(files);
});
