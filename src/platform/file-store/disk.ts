import { randomBytes } from 'node:crypto';
import { close, constants, createReadStream, fstat, open as openNumber } from 'node:fs';
import { chown, type FileHandle, link, mkdir, open, opendir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { bind } from '../runtime/bind.js';
import { errorCode } from '../runtime/files.js';
import { retry } from '../runtime/retry.js';
import { whyUnreadable, whyUnwritable } from '../runtime/system-errors.js';
import { requireKey } from './keys.js';
import {
  type ByteRange,
  type FileStore,
  FileStoreError,
  type ListOptions,
  ObjectDamagedError,
  ObjectNotFoundError,
  type StoredObject,
  type WriteOptions,
} from './store.js';

/** Suffix of an object's file while it is written; it is renamed once it is on the disk. */
const unfinished = '.incoming';
/** Bytes of one read or write; each call waits for a thread. */
const pieceBytes = 262_144;
/** Error of a network file system for a directory that was replaced. */
const replaced = 'ESTALE';
/** Most attempts to create a file: its directory may be removed before the file is opened. */
const attempts = 5;

const numbers = { open: promisify(openNumber), stat: promisify(fstat), close: promisify(close) };

/** Owner of files created when running as root. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The directory of a store. */
interface Root {
  readonly root: string;
  readonly owner: Owner | undefined;
  readonly inodeAtStart: Promise<number | undefined>;
  /** Undefined until the directory exists. The device is not compared: a remounted volume may have another one with the same directories. */
  inode: number | undefined;
}

/** Stores objects as files below a directory. Each segment of a key except the last is a directory. */
export function createDiskStore(root: string, owner?: Owner): FileStore {
  const at: Root = { root, owner, inodeAtStart: inodeOf(root), inode: undefined };
  return { ...bind(at, { write, read, size, remove, list, removeRemains }), close: async () => {} };
}

async function write(
  at: Root,
  key: string,
  bytes: AsyncIterable<Uint8Array>,
  { isNew = false }: WriteOptions = {},
): Promise<number> {
  const path = pathOf(at, key);
  // Another process may write a new object of the same key at the same time.
  const incoming = isNew ? `${path}.${randomBytes(4).toString('hex')}${unfinished}` : `${path}${unfinished}`;
  const file = await reported(() => open0600(at, incoming));
  try {
    let size = 0;
    for await (const chunks of inPieces(bytes)) size += await reported(() => writeAll(file, chunks));
    await reported(async () => {
      await file.sync();
      await file.close();
      await (isNew ? renameNew(incoming, path) : rename(incoming, path));
      await syncDirectory(dirname(path));
    });
    return size;
  } catch (error) {
    await file.close().catch(() => {});
    await rm(incoming, { force: true }).catch(() => {});
    await prune(at, dirname(path));
    throw error;
  }
}

/** Codes of file systems without hard links, such as FAT. */
const withoutLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Renames a file, and throws EEXIST if the new name is taken. */
async function renameNew(incoming: string, path: string): Promise<void> {
  try {
    await link(incoming, path);
  } catch (error) {
    if (!withoutLinks.includes(errorCode(error))) throw error;
    if ((await statOf(path)) !== undefined) throw new FileStoreError('EEXIST', { cause: error });
    return rename(incoming, path);
  }
  await rm(incoming);
}

function pathOf({ root }: Root, key: string): string {
  requireKey(key);
  return join(root, key);
}

async function open0600(at: Root, path: string): Promise<FileHandle> {
  const openOnce = async () => {
    await requireSameRoot(at);
    await makeDirectory(dirname(path), at.owner);
    at.inode ??= await inodeOf(at.root);
    const file = await open(path, 'w', 0o600);
    await ownedBy(at.owner, file);
    return file;
  };
  return retry(openOnce, (error, attempt) => errorCode(error) === 'ENOENT' && attempt < attempts);
}

/**
 * Throws if the root was replaced. If a volume is unmounted, files in a new directory in its place would be hidden after it is mounted
 * again.
 */
async function requireSameRoot(at: Root): Promise<void> {
  at.inode ??= await at.inodeAtStart;
  if (at.inode !== undefined && (await inodeOf(at.root)) !== at.inode) throw new FileStoreError(replaced);
}

/** Removes empty directories, up to the root. */
async function prune({ root }: Root, directory: string): Promise<void> {
  const removeEmpty = (path: string): Promise<boolean> =>
    rmdir(path).then(
      () => true,
      (error) => errorCode(error) === 'ENOENT',
    );
  for (let at = directory; at.length > root.length && (await removeEmpty(at)); ) at = dirname(at);
}

async function read(at: Root, key: string, range?: ByteRange): Promise<Readable> {
  const path = pathOf(at, key);
  // Reading by file descriptor is faster than by FileHandle.
  const fd = await reading(key, () =>
    numbers.open(path, constants.O_RDONLY).catch(async (error) => {
      // If the volume is unmounted, the object is not missing.
      await requireSameRoot(at);
      throw error;
    }),
  );
  if (range !== undefined) {
    try {
      const { size } = await reading(key, () => numbers.stat(fd));
      if (size <= range.end) throw new ObjectDamagedError();
    } catch (error) {
      await numbers.close(fd).catch(() => {});
      throw error;
    }
  }
  return createReadStream(path, { fd, highWaterMark: pieceBytes, ...range });
}

async function size(at: Root, key: string): Promise<number | undefined> {
  return (await statOf(pathOf(at, key)))?.size;
}

async function remove(at: Root, key: string): Promise<void> {
  const path = pathOf(at, key);
  await reported(async () => {
    await rm(path, { force: true });
    await rm(`${path}${unfinished}`, { force: true });
  });
  await prune(at, dirname(path));
}

function list(at: Root, prefix: string, { isFlat = false }: ListOptions = {}): AsyncIterable<StoredObject> {
  return walk(prefix === '' ? at.root : pathOf(at, prefix), prefix, isFlat);
}

async function* walk(directory: string, prefix: string, isFlat: boolean): AsyncIterable<StoredObject> {
  for await (const entry of entriesOf(directory)) {
    const key = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (!isFlat) yield* walk(path, key, false);
    } else if (entry.isFile() && !entry.name.endsWith(unfinished)) {
      const found = await statOf(path);
      if (found !== undefined) yield { key, size: found.size, modifiedAt: Math.floor(found.mtimeMs) };
    }
  }
}

async function removeRemains({ root }: Root, isRemain: (object: StoredObject) => boolean): Promise<void> {
  for await (const { name } of entriesOf(root)) {
    const key = name.endsWith(unfinished) ? name.slice(0, -unfinished.length).replace(/\.[0-9a-f]{8}$/, '') : '';
    const found = key === '' ? undefined : await statOf(join(root, name));
    if (found !== undefined && isRemain({ key, size: found.size, modifiedAt: Math.floor(found.mtimeMs) }))
      await reported(() => rm(join(root, name), { force: true }));
  }
}

/** Changes the owner of a new file; closes the file if that fails. */
async function ownedBy(owner: Owner | undefined, file: FileHandle): Promise<void> {
  if (owner === undefined) return;
  try {
    await file.chown(owner.uid, owner.gid);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Undefined if the path does not exist or cannot be reached. */
async function inodeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );
}

/** Creates a directory and its parents durably. */
async function makeDirectory(directory: string, owner: Owner | undefined): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let at = directory; at.length >= first.length; at = dirname(at)) {
    if (owner !== undefined) await chown(at, owner.uid, owner.gid);
    await syncDirectory(dirname(at));
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Groups chunks that are written together. They are not copied into one buffer, which would create garbage. */
async function* inPieces(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    chunks.push(chunk);
    size += chunk.length;
    if (size < pieceBytes) continue;
    yield chunks.splice(0);
    size = 0;
  }
  if (size > 0) yield chunks;
}

/** Writes all chunks and returns their size in bytes. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<number> {
  let size = 0;
  for (let left = [...chunks]; left.length > 0; ) {
    const { bytesWritten } = await file.writev(left);
    size += bytesWritten;
    left = without(left, bytesWritten);
  }
  return size;
}

/** The chunks without their first `bytes` bytes. */
function without(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = bytes;
  const left: Uint8Array[] = [];
  for (const chunk of chunks) {
    if (skipped < chunk.length) left.push(chunk.subarray(skipped));
    skipped = Math.max(0, skipped - chunk.length);
  }
  return left;
}

async function statOf(path: string): Promise<{ readonly size: number; readonly mtimeMs: number } | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return undefined;
    throw failure(error, whyUnreadable);
  }
}

/** The entries of a directory; none if it is gone. */
async function* entriesOf(directory: string) {
  try {
    yield* await opendir(directory);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return;
    throw failure(error, whyUnreadable);
  }
}

/** Converts system errors of writing to errors of the store. */
async function reported<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw failure(error, whyUnwritable);
  }
}

/** Converts system errors of reading an object to errors of the store. */
async function reading<T>(key: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw errorCode(error) === 'ENOENT' ? new ObjectNotFoundError(key) : failure(error, whyUnreadable);
  }
}

function failure(error: unknown, why: (error: unknown) => string): FileStoreError {
  if (error instanceof FileStoreError) return error;
  return new FileStoreError(errorCode(error), { reason: why(error), cause: error });
}
