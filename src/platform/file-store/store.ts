import type { Readable } from 'node:stream';

/** An object as a list tells of it. */
export interface StoredObject {
  readonly key: string;
  readonly size: number;
  /** Milliseconds since the Unix epoch. */
  readonly modifiedAt: number;
}

/** Bytes of an object, both ends included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Where the bytes of files are. Keys are paths of letters, digits and `. _ -`, with `/` between their segments. Throws FileStoreError. */
export interface FileStore {
  /** Writes an object; resolves with its size once it is durable; leaves nothing behind where `bytes` fails. An existing object of the key is replaced. */
  write(key: string, bytes: AsyncIterable<Uint8Array>): Promise<number>;
  /** The bytes from `start` to `end`, the whole object without. Throws ObjectNotFoundError, and ObjectDamagedError where it is shorter. */
  read(key: string, range?: ByteRange): Promise<Readable>;
  /** The size of an object; undefined where there is none. */
  size(key: string): Promise<number | undefined>;
  /** Removes an object, and what a write of it that was killed has left. Removing what is not there is no error. */
  remove(key: string): Promise<void>;
  /** Every object below a prefix that ends with a segment, in no promised order; all for the empty one. */
  list(prefix: string): AsyncIterable<StoredObject>;
  close(): Promise<void>;
}

/** The store did not do what was asked of it. */
export class FileStoreError extends Error {
  /** Of the system or of the remote service, such as `ENOSPC`. */
  readonly code: string;
  /** The same for an operator. */
  readonly reason: string;
  constructor(code: string, options?: ErrorOptions & { readonly reason?: string }) {
    super(`the file store failed: ${code}`, options);
    this.name = 'FileStoreError';
    this.code = code;
    this.reason = options?.reason ?? code;
  }
}

/** There is no object of that key. */
export class ObjectNotFoundError extends Error {
  readonly key: string;
  constructor(key: string) {
    super('the file store has no such object');
    this.name = 'ObjectNotFoundError';
    this.key = key;
  }
}

/** An object is not what was stored: its end is missing, or its bytes were changed. */
export class ObjectDamagedError extends Error {
  constructor(cause?: unknown) {
    super('an object of the file store is damaged', { cause });
    this.name = 'ObjectDamagedError';
  }
}
