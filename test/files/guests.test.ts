// Guests behind one address, and the size of files where a bucket says nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { aFileBackend, chunkBytes, someBytes, upload, uploadChunk } from './setup.js';

const target = await startAppliance();
const { bucket } = await aFileBackend(target);
const whole = someBytes(chunkBytes + 5);

test('a guest shares neither an upload nor an answer with another guest of its address', async () => {
  const files = await bucket({ permissions: ['create("any")', 'read("any")'] });
  const [one, other] = [createClient(target), createClient(target)];
  const message = /Guests upload in chunks/;
  const refused = await uploadChunk(one, files, whole, 0, { fileId: 'photo' });
  assert.match(refused.refused(400, 'general_argument_invalid').string('message'), message);
  const fileId = (await uploadChunk(one, files, whole, 0)).expect(201).string('$id');
  const second = (await uploadChunk(other, files, whole, 0)).expect(201).string('$id');
  assert.notEqual(second, fileId);
  (await uploadChunk(one, files, whole, 1, { headers: { 'X-Service-Id': fileId } })).expect(201);
  const headers = { 'Idempotency-Key': 'the-same' };
  const [a, b] = [await upload(one, files, 'mine', { headers }), await upload(other, files, 'mine', { headers })];
  assert.notEqual(a.expect(201).string('$id'), b.expect(201).string('$id'));
});

test('a bucket without a size takes files of the size of the installation', async () => {
  const small = await startAppliance({ settings: { SVC_FILE_MAX_BYTES: '1000' } });
  const backend = await aFileBackend(small);
  const files = await backend.bucket();
  (await upload(backend.key, files, someBytes(1000))).expect(201);
  (await upload(backend.key, files, someBytes(1001))).refused(400, 'storage_invalid_file_size');
  (await upload(backend.key, await backend.bucket({ maximumFileSize: 2000 }), someBytes(1001))).expect(201);
});
