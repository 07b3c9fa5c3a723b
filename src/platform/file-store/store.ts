import type { Readable } from 'node:stream';

/** An entry of a list of objects. */
export interface StoredObject {
  readonly key: string;
  readonly size: number;
  /** Milliseconds since the Unix epoch. */
  readonly modifiedAt: number;
}

/** A range of bytes, both ends included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Options of a write. */
export interface WriteOptions {
  /**
   * True if an existing object is an error with the code `EEXIST`, also if another process has written it meanwhile. S3 cannot compare and
   * write at once; there the caller compares before.
   */
  readonly isNew?: boolean;
}

/** Options of a list. */
export interface ListOptions {
  /** True if objects below further segments are left out, and their directories are not read. */
  readonly isFlat?: boolean;
}

/** Storage of file contents. Keys are paths of letters, digits and `. _ -`, with `/` between their segments. Throws FileStoreError. */
export interface FileStore {
  /**
   * Writes an object and resolves with its size once it is durable; an existing object is replaced. Leaves nothing behind if `bytes` fails.
   */
  write(key: string, bytes: AsyncIterable<Uint8Array>, options?: WriteOptions): Promise<number>;
  /** The bytes of `range`, by default of the whole object. Throws ObjectNotFoundError, and ObjectDamagedError if the object is shorter. */
  read(key: string, range?: ByteRange): Promise<Readable>;
  /** The size of an object; undefined if there is none. */
  size(key: string): Promise<number | undefined>;
  /** Removes an object, and any remains of an interrupted write. A missing object is not an error. */
  remove(key: string): Promise<void>;
  /** Every object below a prefix of whole segments, in no particular order; all objects for the empty prefix. */
  list(prefix: string, options?: ListOptions): AsyncIterable<StoredObject>;
  /** Removes remains of killed writes directly below the root that fit: those whose key and time of the last change are given. */
  removeRemains(isRemain: (object: StoredObject) => boolean): Promise<void>;
  close(): Promise<void>;
}

/** An operation of the store failed. */
export class FileStoreError extends Error {
  /** Code of the system or of the remote service, such as `ENOSPC`. */
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

/** No object has that key. */
export class ObjectNotFoundError extends Error {
  readonly key: string;
  constructor(key: string) {
    super('the file store has no such object');
    this.name = 'ObjectNotFoundError';
    this.key = key;
  }
}

/** An object differs from the stored one: it is truncated, or its bytes were changed. */
export class ObjectDamagedError extends Error {
  constructor(cause?: unknown) {
    super('an object of the file store is damaged', { cause });
    this.name = 'ObjectDamagedError';
  }
}
