import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Plain bytes of a segment. Each segment is encrypted by itself, so that a range can be read without the bytes before it. */
const segmentBytes = 65_536;
const tagBytes = 16;
const nonceBytes = 12;
const sealedBytes = segmentBytes + tagBytes;

/** Sealed bytes were changed, swapped or truncated, or the key is wrong. */
export class BrokenSealError extends Error {
  constructor(cause?: unknown) {
    super('sealed bytes do not open', { cause });
    this.name = 'BrokenSealError';
  }
}

/**
 * Encrypts bytes in segments (AES-256-GCM). The nonce of a segment is its number and a flag for the last one, so segments cannot be
 * omitted, swapped or truncated. A key must be used for one object only.
 */
export async function* sealSegments(key: Buffer, bytes: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  let pending = Buffer.alloc(0);
  let number = 0;
  for await (const chunk of bytes) {
    pending = Buffer.concat([pending, chunk]);
    // The last segment is known only at the end.
    while (pending.length > segmentBytes) {
      yield encrypt(key, nonceOf(number++, false), pending.subarray(0, segmentBytes));
      pending = pending.subarray(segmentBytes);
    }
  }
  yield encrypt(key, nonceOf(number, true), pending);
}

/** Number of plain bytes of a sealed object of `size` bytes. */
export function plainSizeOf(size: number): number {
  return size - Math.ceil(size / sealedBytes) * tagBytes;
}

/** The range of the segments with plain bytes from `start` to `end`, both included, in an object of `size` sealed bytes. */
export function sealedRangeOf(
  start: number,
  end: number,
  size: number,
): { readonly start: number; readonly end: number } {
  const first = Math.floor(start / segmentBytes);
  const last = Math.floor(end / segmentBytes);
  return { start: first * sealedBytes, end: Math.min((last + 1) * sealedBytes, size) - 1 };
}

/** Decrypts the segments of the range from `sealedRangeOf`, and yields the plain bytes from `start` to `end`. Throws BrokenSealError. */
export async function* openSegments(
  key: Buffer,
  sealed: AsyncIterable<Uint8Array>,
  { start, end, size }: { readonly start: number; readonly end: number; readonly size: number },
): AsyncIterable<Buffer> {
  let pending = Buffer.alloc(0);
  let number = Math.floor(start / segmentBytes);
  const lastOfObject = Math.ceil(size / sealedBytes) - 1;
  const lastOfRange = Math.floor(end / segmentBytes);
  const next = (bytes: number): Buffer => {
    const plain = decrypt(key, nonceOf(number, number === lastOfObject), pending.subarray(0, bytes));
    pending = pending.subarray(bytes);
    const at = number * segmentBytes;
    number += 1;
    return plain.subarray(Math.max(0, start - at), Math.min(plain.length, end - at + 1));
  };
  for await (const chunk of sealed) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= sealedBytes) yield next(sealedBytes);
  }
  if (pending.length > 0) yield next(pending.length);
  if (number <= lastOfRange) throw new BrokenSealError('it is shorter than it was');
}

/** Encrypts a whole value (AES-256-GCM), with a random nonce in front. */
export function sealBuffer(key: Buffer, plain: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  return Buffer.concat([nonce, encrypt(key, nonce, plain)]);
}

/** Decrypts a value; undefined if it was changed or sealed with another key. */
export function openBuffer(key: Buffer, sealed: Buffer): Buffer | undefined {
  try {
    return decrypt(key, sealed.subarray(0, nonceBytes), sealed.subarray(nonceBytes));
  } catch (error) {
    if (error instanceof BrokenSealError) return undefined;
    throw error;
  }
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeUIntBE(number, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/** Encrypts bytes and appends the tag. */
function encrypt(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer {
  const at = sealed.length - tagBytes;
  if (at < 0) throw new BrokenSealError('it is shorter than it was');
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(at));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, at)), decipher.final()]);
  } catch (error) {
    throw new BrokenSealError(error);
  }
}
