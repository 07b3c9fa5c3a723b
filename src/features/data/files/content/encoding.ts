import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import {
  BrokenSealError,
  openSegments,
  plainSizeOf,
  sealedRangeOf,
  sealSegments,
} from '#src/platform/crypto/sealed-stream.js';
import { type FileStore, ObjectDamagedError } from '#src/platform/file-store/index.js';
import { errorCode } from '#src/platform/runtime/files.js';
import type { ObjectRow } from '../model/store.js';

/** Encoding of the stored bytes: compressed first, then encrypted. */
interface Encoding {
  readonly gzip: boolean;
  readonly key: Buffer | undefined;
}

/** Encodes the bytes of a part for the store. */
export function encode(bytes: AsyncIterable<Uint8Array>, { gzip, key }: Encoding): AsyncIterable<Uint8Array> {
  const packed = gzip ? through(bytes, createGzip()) : bytes;
  return key === undefined ? packed : sealSegments(key, packed);
}

/**
 * The original bytes of a part from `start` to `end`, inclusive. Throws ObjectNotFoundError at once, and ObjectDamagedError at once or
 * while reading.
 */
export async function decode(
  store: FileStore,
  { key: objectKey, storedSize, size }: Pick<ObjectRow, 'key' | 'storedSize' | 'size'>,
  { gzip, key }: Encoding,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<AsyncIterable<Uint8Array>> {
  const kept = key === undefined ? storedSize : plainSizeOf(storedSize);
  const range = gzip ? { start: 0, end: kept - 1 } : { start, end };
  const stored = await store.read(
    objectKey,
    key === undefined ? range : sealedRangeOf(range.start, range.end, storedSize),
  );
  if (key === undefined && !gzip) return stored;
  const plain = key === undefined ? stored : openSegments(key, stored, { ...range, size: storedSize });
  if (!gzip) return intact(plain);
  const whole = through(plain, createGunzip());
  return intact(start === 0 && end === size - 1 ? whole : slice(whole, start, end));
}

/** Passes bytes through. Throws ObjectDamagedError if decryption or decompression fails. */
async function* intact(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    const isDamage = error instanceof BrokenSealError || errorCode(error).startsWith('Z_');
    throw isDamage ? new ObjectDamagedError(error) : error;
  }
}

function through(bytes: AsyncIterable<Uint8Array>, transform: NodeJS.ReadWriteStream): AsyncIterable<Uint8Array> {
  // `pipeline` destroys all streams when the iteration ends, early or with an error.
  return pipeline(Readable.from(bytes), transform, () => {}) as unknown as AsyncIterable<Uint8Array>;
}

async function* slice(bytes: AsyncIterable<Uint8Array>, start: number, end: number): AsyncIterable<Uint8Array> {
  let at = 0;
  for await (const chunk of bytes) {
    const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at + 1));
    at += chunk.length;
    if (part.length > 0) yield part;
    if (at > end) return;
  }
}
