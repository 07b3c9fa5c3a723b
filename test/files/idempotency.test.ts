// Uploads, changes and deletions of files that arrive several times are carried out once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { aFileBackend, chunkBytes, someBytes, upload, uploadChunk } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();
const { key, secret, bucket } = await aFileBackend(target);
const [here, there] = [createClient(target, { key: secret }), createClient(sibling, { key: secret })];
const files = await bucket({ permissions: ['create("users")', 'read("any")'] });
const named = (name: string) => ({ 'Idempotency-Key': name });
const nothing = { audit: [], events: [], messages: [] };
const objects = async () => {
  const stored = await rowsOf(target, 'file_objects');
  const found: string[] = [];
  for await (const { key: name } of target.appliance.runtime.files.list('')) found.push(name);
  assert.deepEqual(
    found.sort(),
    stored.map((row) => String(row.key)).sort(),
    'no bytes without a row, no row without bytes',
  );
  return found.length;
};

test('fifty duplicates of an upload at once, over two processes, make one file and get one answer', async () => {
  const before = await objects();
  const { recorded } = await recordedBy(target, async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        upload(at % 2 === 0 ? here : there, files, 'hello', { headers: named('fifty'), name: 'a.txt' }),
      ),
    );
    for (const answer of answers) answer.expect(201);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  });
  assert.deepEqual(recorded, { audit: ['fileCreated'], events: ['fileCreated'], messages: [] });
  assert.equal(await objects(), before + 1);
  const restarted = await target.startSibling();
  const client = createClient(restarted, { key: secret });
  const again = await upload(client, files, 'hello', { headers: named('fifty'), name: 'a.txt' });
  const shown = (await here.get(`${files}/${again.expect(201).string('$id')}`)).expect(200);
  assert.deepEqual(again.body, shown.body);
  await restarted.close();
});

test('other bytes, another name, id or permissions under the same key are 422, and nothing of them stays', async () => {
  (await upload(here, files, 'one', { headers: named('mine'), fileId: 'mine' })).expect(201);
  const before = await objects();
  const headers = named('mine');
  for (const [bytes, given] of [
    ['two', { fileId: 'mine' }],
    ['one', { fileId: 'other' }],
    ['one', { fileId: 'mine', name: 'b.bin' }],
    ['one', { fileId: 'mine', permissions: ['read("any")'] }],
  ] as const)
    (await upload(here, files, bytes, { ...given, headers })).refused(422, 'general_idempotency_mismatch');
  assert.equal(await objects(), before);
  const user = await aLoggedInUser(target);
  (await upload(user.client, files, 'one', { headers })).expect(201);
  (await upload(createClient(target), files, 'one', { headers, fileId: 'mine' })).refused(401, 'user_unauthorized');
  (await upload(here, files, 'x', { headers: named('two words') })).refused(400, 'general_argument_invalid');
});

test('an upload that fails is not kept', async () => {
  const headers = named('fails');
  (await upload(here, files, '', { headers })).refused(400, 'storage_file_empty');
  (await upload(here, files, 'x', { headers, fileId: 'mine' })).refused(409, 'storage_file_already_exists');
  (await upload(here, files, 'x', { headers, fileId: 'later' })).expect(201);
});

test('each chunk can have a key of its own, and a file of chunks is completed once', async () => {
  const whole = someBytes(2 * chunkBytes + 100);
  const first = (await uploadChunk(here, files, whole, 0, { headers: named('chunk-0') })).expect(201);
  const same = (await uploadChunk(there, files, whole, 0, { headers: named('chunk-0') })).expect(201);
  assert.equal(same.text, first.text, 'a duplicate of the first chunk begins no other file');
  const fileId = first.string('$id');
  const id = { 'X-Service-Id': fileId };
  (await uploadChunk(here, files, whole, 1, { headers: { ...id, ...named('chunk-1') } })).expect(201);
  (await uploadChunk(here, files, whole, 2, { headers: { ...id, ...named('chunk-1') } })).refused(
    422,
    'general_idempotency_mismatch',
  );
  const { recorded } = await recordedBy(target, async () => {
    const last = await Promise.all(
      [here, there, here, there].map((client) =>
        uploadChunk(client, files, whole, 2, { headers: { ...id, ...named('chunk-2') } }),
      ),
    );
    for (const answer of last) assert.equal(answer.expect(201).body.chunksUploaded, 3);
    assert.equal(new Set(last.map(({ text }) => text)).size, 1);
  });
  assert.deepEqual(recorded, { audit: ['fileCreated'], events: ['fileCreated'], messages: [] });
  await objects();
});

test('a change and a deletion can be repeated, and are carried out once', async () => {
  (await upload(key, files, 'one', { fileId: 'changes' })).expect(201);
  const path = `${files}/changes`;
  for (const [at, [method, body, status]] of (
    [
      ['PUT', { name: 'b.txt' }, 200],
      ['DELETE', undefined, 204],
    ] as const
  ).entries()) {
    const first = (await here.request(method, path, body, named(`each-${at}`))).expect(status);
    const { recorded } = await recordedBy(target, async () => {
      assert.equal((await there.request(method, path, body, named(`each-${at}`))).expect(status).text, first.text);
    });
    assert.deepEqual(recorded, nothing);
  }
  (await here.put(path, { name: 'c.txt' }, named('each-0'))).refused(422, 'general_idempotency_mismatch');
});

test('a caller that has lost a right gets no kept answer', async () => {
  const all = ['create("users")', 'read("users")', 'update("users")', 'delete("users")'];
  const own = await bucket({ permissions: all });
  const { client } = await aLoggedInUser(target);
  const granted = async (...permissions: string[]) =>
    (await key.put(own.replace('/files', ''), { name: 'Test', permissions })).expect(200);
  const add = () => upload(client, own, 'one', { headers: named('lost-add'), fileId: 'lost' });
  const change = () => client.put(`${own}/lost`, { name: 'b.txt' }, named('lost-change'));
  const remove = () => client.delete(`${own}/lost`, named('lost-remove'));
  const added = (await add()).expect(201);
  const changed = (await change()).expect(200);
  assert.equal((await change()).text, changed.text);
  await granted('create("users")', 'update("users")', 'delete("users")');
  assert.equal((await add()).text, added.text);
  const { name, signature, sizeOriginal, $id } = (await change()).expect(200).body;
  assert.deepEqual([name, signature, sizeOriginal, $id], ['', '', 0, 'lost']);
  await granted('read("users")');
  (await add()).refused(401, 'user_unauthorized');
  (await change()).refused(401, 'user_unauthorized');
  await granted();
  (await change()).refused(404, 'storage_file_not_found');
  await granted(...all);
  assert.equal((await change()).text, changed.text);
  (await remove()).expect(204);
  (await remove()).expect(204);
  (await change()).refused(404, 'storage_file_not_found');
  await granted('read("users")');
  (await remove()).refused(401, 'user_unauthorized');
});
