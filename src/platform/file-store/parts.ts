import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { errorCode } from '../files.js';
import { FileStoreError } from './store.js';

/** Bytes that are sent by one request, as often as that is tried. */
export interface Part {
  readonly size: number;
  readonly isLast: boolean;
  /** Small ones are in memory; others are read from the disk anew. */
  body(): Buffer | Readable;
}

/** What is sent by one request at most. */
const partBytes = 8 * 1024 * 1024;
/** What of a part is in memory; the rest waits on the disk, so that many uploads and slow ones cost no memory. */
const memoryBytes = 256 * 1024;
const pieceBytes = 64 * 1024;

/**
 * The bytes in parts of the same size but for the last. All parts lie in one file of the directory, so each is to be sent before the next is asked for.
 * The file has no name any more once it is open, so that nothing of it is left where the process is killed.
 */
export async function* partsOf(bytes: AsyncIterable<Uint8Array>, directory: string): AsyncGenerator<Part> {
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
    return { size, isLast, body: () => Readable.from(pieces(from, size), { objectMode: false }) };
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
    yield written === 0 ? { size: rest, isLast: true, body: () => buffer.subarray(0, rest) } : await partOnDisk(true);
  } finally {
    await file?.close();
  }
}

/** A stream of the file itself would close it at its end. */
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
