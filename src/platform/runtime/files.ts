import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** True if no file exists at the path. A file that may not be inspected is not absent: opening it reports the reason. */
export function isAbsent(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(errorCode(error));
  }
}

/** The code of a system error, such as `EACCES`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

/** A file is larger than its reader accepts. */
export class FileTooLargeError extends Error {
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`more than ${maxBytes / 1024} KiB`);
    this.name = 'FileTooLargeError';
    this.maxBytes = maxBytes;
  }
}

/**
 * The content of a file of at most `maxBytes` bytes. It reads at most one byte more, whatever size the file reports, so devices and pipes
 * are allowed too. Throws FileTooLargeError, and the system error if reading fails.
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

/** The UTF-8 text of bytes; undefined for invalid bytes, which would all become the same replacement character. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
