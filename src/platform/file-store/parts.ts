import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { errorCode } from '../runtime/files.js';
import { FileStoreError } from './store.js';

/** Bytes sent by one request, which may be repeated. */
export interface Part {
  readonly size: number;
  readonly isLast: boolean;
  /** False if `body` reads the part from the disk. */
  readonly isInMemory: boolean;
  body(): Buffer | Readable;
}

/** Bytes of one request by default. */
export const defaultPartBytes = 8 * 1024 * 1024;
/** Bytes of a part kept in memory. The rest is buffered on the disk, so that many or slow uploads use little memory. */
const memoryBytes = 256 * 1024;
const pieceBytes = 64 * 1024;

/**
 * Splits bytes into parts of the same size, except for the last. All parts share one file in the directory, so each must be sent before the
 * next one is requested. The file is unlinked as soon as it is open, so that nothing remains if the process is killed.
 */
export async function* filePartsOf(
  bytes: AsyncIterable<Uint8Array>,
  directory: string,
  partBytes = defaultPartBytes,
): AsyncGenerator<Part> {
  const buffer = Buffer.allocUnsafeSlow(memoryBytes);
  let filled = 0;
  let written = 0;
  let file: FileHandle | undefined;
  const spill = async (): Promise<FileHandle> => {
    try {
      file ??= await openNameless(directory);
      for (let at = 0; at < filled; ) at += (await file.write(buffer, at, filled - at, written + at)).bytesWritten;
    } catch (error) {
      throw new FileStoreError(errorCode(error), { cause: error });
    }
    written += filled;
    filled = 0;
    return file;
  };
  const partOnDisk = async (isLast: boolean): Promise<Part> => {
    const from = await spill();
    const size = written;
    written = 0;
    return { size, isLast, isInMemory: false, body: () => Readable.from(pieces(from, size), { objectMode: false }) };
  };
  try {
    for await (const piece of bytes) {
      for (let taken = 0; taken < piece.length; ) {
        if (written + filled === partBytes) yield await partOnDisk(false);
        if (filled === memoryBytes) await spill();
        const some = piece.subarray(taken, taken + memoryBytes - filled);
        buffer.set(some, filled);
        filled += some.length;
        taken += some.length;
      }
    }
    const rest = filled;
    if (written > 0) yield await partOnDisk(true);
    else yield { size: rest, isLast: true, isInMemory: true, body: () => buffer.subarray(0, rest) };
  } finally {
    await file?.close();
  }
}

/** Not a stream of the file itself, which would close it at its end. */
async function* pieces(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const piece = Buffer.allocUnsafeSlow(Math.min(pieceBytes, size - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) throw new FileStoreError('part-cut-off');
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

async function openNameless(directory: string): Promise<FileHandle> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `.part-${randomBytes(6).toString('hex')}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  return file;
}
