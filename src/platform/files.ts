import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** Whether there is no file of a path. One that exists and may not be looked at is not absent: opening it says why. */
export function isAbsent(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(errorCode(error));
  }
}

/** The code of an error of the system, such as `EACCES`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

/** A file has more bytes than what reads it takes. */
export class FileTooLargeError extends Error {
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`more than ${maxBytes / 1024} KiB`);
    this.name = 'FileTooLargeError';
    this.maxBytes = maxBytes;
  }
}

/**
 * The content of a file of at most so many bytes. It reads one byte more at most, whatever size the file states, so devices and pipes may be
 * named too. Throws FileTooLargeError, and the error of the system for what cannot be read.
 */
export function readSmall(path: string, maxBytes: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const pieces: Buffer[] = [];
    for (let bytes = 0; ; ) {
      const piece = Buffer.alloc(Math.min(65_536, maxBytes + 1 - bytes));
      const read = readSync(file, piece, 0, piece.length, null);
      if (read === 0) return Buffer.concat(pieces);
      bytes += read;
      if (bytes > maxBytes) throw new FileTooLargeError(maxBytes);
      pieces.push(piece.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
}

/** The text of bytes in UTF-8; undefined for other bytes, which would become the same replacement character. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
