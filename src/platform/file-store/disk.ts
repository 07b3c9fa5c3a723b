import { close, constants, createReadStream, fstat, open as openNumber } from 'node:fs';
import { chown, type FileHandle, mkdir, open, opendir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errorCode } from '../files.js';
import { demandKey } from './keys.js';
import { type FileStore, FileStoreError, ObjectDamagedError, ObjectNotFoundError, type StoredObject } from './store.js';

/** How the file of an object is called while it is written; it is renamed when it is on the disk. */
const unfinished = '.incoming';
/** Bytes that are read or written at once: each call waits for a thread. */
const pieceBytes = 262_144;
/** What a network file system says of a directory that is not the one it was. */
const replaced = 'ESTALE';
/** A directory may be removed between its creation and the rename into it. */
const attempts = 5;

const numbers = { open: promisify(openNumber), stat: promisify(fstat), close: promisify(close) };

/** Whose the files and directories are that a process of the superuser makes. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Objects as files below a directory, a directory for each segment of a key but the last. */
export function createDiskStore(root: string, owner?: Owner): FileStore {
  const pathOf = (key: string): string => {
    demandKey(key);
    return join(root, key);
  };
  /** By its number only: a volume that is mounted again may be another device, and its directories are the same. */
  let first: number | undefined;
  const atStart = inodeOf(root);
  /** Where a volume falls away, a directory made in its place would take bytes that are hidden when it comes back. */
  const demandSameRoot = async (): Promise<void> => {
    first ??= await atStart;
    if (first !== undefined && (await inodeOf(root)) !== first) throw new FileStoreError(replaced);
  };
  const open0600 = async (path: string): Promise<FileHandle> => {
    for (let count = 1; ; count++) {
      await demandSameRoot();
      await makeDirectory(dirname(path), owner);
      first ??= await inodeOf(root);
      try {
        const file = await open(path, 'w', 0o600);
        await ownedBy(owner, file);
        return file;
      } catch (error) {
        if (errorCode(error) !== 'ENOENT' || count === attempts) throw error;
      }
    }
  };
  /** Removes directories that have become empty, up to the root. */
  const prune = async (directory: string): Promise<void> => {
    for (let at = directory; at.length > root.length; at = dirname(at)) {
      try {
        await rmdir(at);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') return;
      }
    }
  };
  async function* walk(directory: string, prefix: string): AsyncIterable<StoredObject> {
    for await (const entry of entriesOf(directory)) {
      const key = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
      const path = join(directory, entry.name);
      if (entry.isDirectory()) yield* walk(path, key);
      else if (entry.isFile() && !entry.name.endsWith(unfinished)) {
        const found = await statOf(path);
        if (found !== undefined) yield { key, size: found.size, modifiedAt: Math.floor(found.mtimeMs) };
      }
    }
  }

  return {
    write: async (key, bytes) => {
      const path = pathOf(key);
      const incoming = `${path}${unfinished}`;
      const file = await reported(() => open0600(incoming));
      try {
        let size = 0;
        for await (const chunks of inPieces(bytes)) size += await reported(() => writeAll(file, chunks));
        await reported(async () => {
          await file.sync();
          await file.close();
          await rename(incoming, path);
          await syncDirectory(dirname(path));
        });
        return size;
      } catch (error) {
        await file.close().catch(() => {});
        await rm(incoming, { force: true }).catch(() => {});
        await prune(dirname(path));
        throw error;
      }
    },
    read: async (key, range) => {
      const path = pathOf(key);
      // Reads by the number of a file take less time than those by a FileHandle.
      const fd = await reported(
        () =>
          numbers.open(path, constants.O_RDONLY).catch(async (error) => {
            // Where the volume has fallen away, no object is missing.
            await demandSameRoot();
            throw error;
          }),
        key,
      );
      if (range !== undefined) {
        try {
          const { size } = await reported(() => numbers.stat(fd));
          if (size <= range.end) throw new ObjectDamagedError();
        } catch (error) {
          await numbers.close(fd).catch(() => {});
          throw error;
        }
      }
      return createReadStream(path, { fd, highWaterMark: pieceBytes, ...range });
    },
    size: async (key) => (await statOf(pathOf(key)))?.size,
    remove: async (key) => {
      const path = pathOf(key);
      await reported(async () => {
        await rm(path, { force: true });
        await rm(`${path}${unfinished}`, { force: true });
      });
      await prune(dirname(path));
    },
    list: (prefix) => walk(prefix === '' ? root : pathOf(prefix), prefix),
    close: async () => {},
  };
}

/** Gives a file that was just made to its owner; closes it where that fails. */
async function ownedBy(owner: Owner | undefined, file: FileHandle): Promise<void> {
  if (owner === undefined) return;
  try {
    await file.chown(owner.uid, owner.gid);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Undefined where there is none, or none that can be reached. */
async function inodeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );
}

/** Creates a directory, and its parents, durably. */
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

/** Chunks that are written together. They are not copied into one: that memory would have to be collected again. */
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

/** Returns how many bytes it wrote: all of them. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<number> {
  let size = 0;
  for (let left = [...chunks]; left.length > 0; ) {
    const { bytesWritten } = await file.writev(left);
    size += bytesWritten;
    left = without(left, bytesWritten);
  }
  return size;
}

/** What is left of chunks without so many bytes of their beginning. */
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
    throw new FileStoreError(errorCode(error), { cause: error });
  }
}

/** The entries of a directory; none where it is gone. */
async function* entriesOf(directory: string) {
  try {
    yield* await opendir(directory);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return;
    throw new FileStoreError(errorCode(error), { cause: error });
  }
}

/** Turns errors of the system into those of the store. */
async function reported<T>(act: () => Promise<T>, key?: string): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (key !== undefined && errorCode(error) === 'ENOENT') throw new ObjectNotFoundError(key);
    throw new FileStoreError(errorCode(error), { cause: error });
  }
}
