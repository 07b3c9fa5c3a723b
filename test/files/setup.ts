// Buckets and uploads for tests, made as an application's backend and its SDKs make them.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { aServerKey } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { Answer, type Client } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';

/** What a chunk has, but for the last. */
export const chunkBytes = 5 * 1024 * 1024;

/** What a test uploads. */
export interface UploadGiven {
  readonly fileId?: string;
  readonly name?: string;
  readonly permissions?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

let made = 0;

/** A key with every scope, and how it makes buckets. */
export async function aFileBackend(target: TestAppliance) {
  const { client: key, secret } = await aServerKey(target);
  return {
    key,
    secret,
    /** Makes a bucket; returns the path of its files. */
    bucket: async (given: Readonly<Record<string, unknown>> = {}): Promise<string> => {
      made += 1;
      const bucketId = given.bucketId ?? `bucket-${made}`;
      (await key.post('/storage/buckets', { name: 'Test', ...given, bucketId })).expect(201);
      return `/storage/buckets/${bucketId}/files`;
    },
    /** Downloads a file. */
    bytesOf: async (files: string, id: string): Promise<Buffer> => {
      const headers = { 'X-Service-Project': target.project.id, 'X-Service-Key': secret };
      const answer = await fetch(`${target.origin}/v1${files}/${id}/download`, { headers });
      assert.equal(answer.status, 200);
      return Buffer.from(await answer.arrayBuffer());
    },
    /** Deletes a bucket, the only one with files, and fails where the job then leaves a row or an object. */
    nothingStays: async (files: string): Promise<void> => {
      const { status } = await key.delete(files.replace('/files', ''));
      assert.ok(status === 204 || status === 404, `the bucket is deleted: ${status}`);
      await target.appliance.features.jobs.run('files.sweep');
      assert.deepEqual(await rowsOf(target, 'files'), []);
      assert.deepEqual(await rowsOf(target, 'file_objects'), []);
      for await (const object of target.appliance.runtime.files.list('')) assert.fail(`${object.key} is left`);
    },
  };
}

/** Sends a form with a file. */
export async function upload(
  client: Client,
  files: string,
  bytes: Uint8Array | string,
  { headers = {}, ...given }: UploadGiven = {},
): Promise<Answer> {
  const form = await formOf(bytes, given);
  return client.post(files, form.bytes, { 'Content-Type': form.type, ...headers });
}

/** The form with a file. */
export async function formOf(
  bytes: Uint8Array | string,
  { fileId = 'unique()', name = 'a.bin', permissions }: UploadGiven = {},
): Promise<{ readonly bytes: Uint8Array; readonly type: string }> {
  const form = new FormData();
  form.append('fileId', fileId);
  form.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), name);
  for (const permission of permissions ?? []) form.append('permissions[]', permission);
  const body = new Response(form);
  const type = body.headers.get('content-type') ?? '';
  return { bytes: new Uint8Array(await body.arrayBuffer()), type };
}

/** A chunk with the header that says where in the file it is. */
function chunkOf(whole: Uint8Array, number: number) {
  const start = number * chunkBytes;
  const end = Math.min(start + chunkBytes, whole.length);
  const range = { 'Content-Range': `bytes ${start}-${end - 1}/${whole.length}` };
  return { bytes: whole.subarray(start, end), range };
}

/** Sends a chunk of a file as the SDKs do. */
export function uploadChunk(
  client: Client,
  files: string,
  whole: Uint8Array,
  number: number,
  { headers = {}, ...given }: UploadGiven = {},
): Promise<Answer> {
  const { bytes, range } = chunkOf(whole, number);
  return upload(client, files, bytes, { ...given, headers: { ...range, ...headers } });
}

/** Sends a chunk but for its last bytes, which `finish` sends; returns when the server has begun to write it. */
export async function beginChunk(
  target: TestAppliance,
  /** The secret of a server key, or the headers of another caller. */
  caller: string | Readonly<Record<string, string>>,
  files: string,
  whole: Uint8Array,
  number: number,
  { headers = {}, ...given }: UploadGiven = {},
) {
  const { bytes, range } = chunkOf(whole, number);
  const form = await formOf(bytes, given);
  const sent = request(`${target.origin}/v1${files}`, {
    method: 'POST',
    headers: {
      'X-Service-Project': target.project.id,
      ...(typeof caller === 'string' ? { 'X-Service-Key': caller } : caller),
      'Content-Type': form.type,
      'Content-Length': form.bytes.length,
      ...range,
      ...headers,
    },
  });
  const answer = new Promise<Answer>((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => {
        const got = new Headers(
          Object.entries(response.headers).map(([name, value]): [string, string] => [name, `${value}`]),
        );
        resolve(
          new Answer(
            'a slow chunk',
            { status: response.statusCode ?? 0, headers: got },
            Buffer.concat(chunks).toString(),
          ),
        );
      });
    });
  });
  answer.catch(() => {});
  const writing = async () =>
    (await rowsOf(target, 'file_objects')).filter(({ state }) => state === 'writing').map(({ key }) => key);
  const before = new Set(await writing());
  sent.write(form.bytes.subarray(0, -500));
  const early = answer.then(({ status, text }): never => {
    throw new Error(`answered before the last bytes: ${status} ${text}`);
  });
  await Promise.race([until(async () => (await writing()).some((key) => !before.has(key))), early]);
  return {
    finish: (): Promise<Answer> => {
      sent.end(form.bytes.subarray(-500));
      return answer;
    },
  };
}

/** Asks again until there is an answer, for at least 30 seconds. */
export async function until<T>(ask: () => Promise<T | undefined | false>): Promise<T> {
  for (let count = 0; count < 3000; count++) {
    const found = await ask();
    if (found) return found;
    await sleep(10);
  }
  throw new Error('it never came');
}

/** Bytes that repeat nowhere near, the same for the same seed. */
export function someBytes(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}
