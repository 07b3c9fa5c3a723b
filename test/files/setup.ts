// Buckets and uploads for tests, made as an application's backend and its SDKs make them.
import { aServerKey } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import type { Answer, Client } from '../harness/client.js';

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
      (await key.post('/storage/buckets', { bucketId: `bucket-${made}`, name: 'Test', ...given })).expect(201);
      return `/storage/buckets/${given.bucketId ?? `bucket-${made}`}/files`;
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

/** Sends a chunk of a file as the SDKs do. */
export function uploadChunk(
  client: Client,
  files: string,
  whole: Uint8Array,
  number: number,
  { headers = {}, ...given }: UploadGiven = {},
): Promise<Answer> {
  const start = number * chunkBytes;
  const end = Math.min(start + chunkBytes, whole.length);
  const range = { 'Content-Range': `bytes ${start}-${end - 1}/${whole.length}` };
  return upload(client, files, whole.subarray(start, end), { ...given, headers: { ...range, ...headers } });
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
