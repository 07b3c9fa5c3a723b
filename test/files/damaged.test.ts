// Objects that are no longer what was stored: cut short, or with another byte. The response says so where it can, and the log always does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApplianceOptions, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { startS3Server } from '../harness/s3-server.js';
import { aFileBackend, someBytes, upload } from './setup.js';

const s3 = await startS3Server();

/** Replaces what the store holds of the one file that is there. */
async function replace({ appliance }: TestAppliance, change: (bytes: Buffer) => Buffer): Promise<void> {
  const { files } = appliance.runtime;
  const keys: string[] = [];
  for await (const { key } of files.list('')) keys.push(key);
  assert.equal(keys.length, 1);
  const chunks: Uint8Array[] = [];
  for await (const chunk of await files.read(keys[0] ?? '')) chunks.push(chunk);
  await files.write(
    keys[0] ?? '',
    (async function* () {
      yield change(Buffer.concat(chunks));
    })(),
  );
}

const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length - 1);
const empty = () => Buffer.alloc(0);
const changedAt = (at: number) => (bytes: Buffer) => {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0xff;
  return copy;
};
const damages: [string, Record<string, unknown>, (bytes: Buffer) => Buffer][] = [
  ['cut short', { encryption: false }, cut],
  ['cut short to nothing', { encryption: false }, empty],
  ['cut short and encrypted', { encryption: true }, cut],
  ['encrypted, and nothing is left', { encryption: true }, empty],
  ['cut short and compressed', { encryption: false, compression: 'gzip' }, cut],
  ['changed in its first segment', { encryption: true }, changedAt(100)],
  ['changed in its first bytes and compressed', { encryption: false, compression: 'gzip' }, changedAt(0)],
];
const stores: [string, () => ApplianceOptions][] = [
  ['disk', () => ({})],
  ['S3', () => ({ settings: s3.settings('damaged') })],
];
for (const [store, options] of stores) {
  test(`${store}: a file that is damaged is answered 503 before anything of it is sent, and the log names it`, async (t) => {
    for (const [name, bucketGiven, change] of damages) {
      await t.test(name, async () => {
        const target = await startAppliance(options());
        const backend = await aFileBackend(target);
        const files = await backend.bucket(bucketGiven);
        const sent = someBytes(50_000);
        const id = (await upload(backend.key, files, sent)).expect(201).string('$id');
        await replace(target, change);
        for (const path of ['download', 'view']) {
          const answer = (await backend.key.get(`${files}/${id}/${path}`)).refused(503, 'general_unavailable');
          assert.equal(answer.headers.get('Retry-After'), '600');
          assert.match(answer.string('message'), /damaged/);
        }
        assert.match(target.log(), new RegExp(`"level":"error","event":"files.bytes-damaged".*"file":"${id}"`));
        for await (const { key } of target.appliance.runtime.files.list(''))
          await target.appliance.runtime.files.remove(key);
      });
    }
  });
}

test('damage beyond the first bytes ends the connection, and the log names the file', async () => {
  const target = await startAppliance();
  const backend = await aFileBackend(target);
  const files = await backend.bucket();
  const id = (await upload(backend.key, files, someBytes(3_000_000))).expect(201).string('$id');
  await replace(target, changedAt(2_500_000));
  await assert.rejects(backend.key.get(`${files}/${id}/download`));
  assert.match(target.log(), new RegExp(`"files.bytes-damaged".*"file":"${id}"`));
  const range = await backend.key.get(`${files}/${id}/download`, { Range: 'bytes=0-99999' });
  assert.equal(range.expect(206).headers.get('Content-Length'), '100000');
});

test('a client that goes away in the middle of a download is no error of the store', async () => {
  const target = await startAppliance();
  const backend = await aFileBackend(target);
  for (const given of [{ encryption: false }, { encryption: true }]) {
    const files = await backend.bucket(given);
    const id = (await upload(backend.key, files, someBytes(4_900_000))).expect(201).string('$id');
    const aborted = new AbortController();
    const headers = { 'X-Service-Project': target.project.id, 'X-Service-Key': backend.secret };
    const response = await fetch(`${target.origin}/v1${files}/${id}/download`, { headers, signal: aborted.signal });
    await response.body?.getReader().read();
    aborted.abort();
  }
  await target.drain();
  assert.doesNotMatch(target.log(), /files\.(read-failed|bytes-)/);
});
