import { randomBytes } from 'node:crypto';
import { mkdir, open, opendir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../runtime/files.js';
import { lazy } from '../runtime/lazy.js';
import { Lru } from './lru.js';

/** A cache of computed values in files below a directory. Every error counts as a miss. */
export interface DiskCache {
  /** Size of a cached value in bytes; undefined if it is not cached. */
  sizeOf(group: string, key: string): Promise<number | undefined>;
  /** The cached value; undefined if there is none. */
  get(group: string, key: string): Promise<Buffer | undefined>;
  set(group: string, key: string, value: Buffer): Promise<void>;
  /** Removes all values of a group, including those written by other processes. */
  forget(group: string): Promise<void>;
}

/** Limits of the cache: bytes and entries in total, and bytes of one entry. */
interface DiskCacheBounds {
  readonly bytes: number;
  readonly entries: number;
  readonly largest: number;
}

const unfinished = '.incoming';

/**
 * Creates a cache below a directory; its files count from the first use on. Groups and keys are file names made by the service. Each
 * process applies the limits to the files it has seen.
 */
export function createDiskCache(directory: string, bounds: DiskCacheBounds): DiskCache {
  const pathOf = (group: string, key: string) => join(directory, group, key);
  const remove = (path: string): void => {
    // The directory of a group is removed with its last file; `rmdir` fails until then.
    const removed = rm(path, { force: true }).then(() => rmdir(dirname(path)));
    removed.catch(() => {});
  };
  const index = lazy(async () => {
    const entries = new Lru<string>(bounds, remove);
    for (const { path, size } of await filesBelow(directory)) entries.set(path, path, size);
    return entries;
  });
  return {
    sizeOf: async (group, key) => {
      try {
        return (await stat(pathOf(group, key))).size;
      } catch {
        return undefined;
      }
    },
    get: async (group, key) => {
      const path = pathOf(group, key);
      try {
        const value = await readFile(path);
        const entries = await index.get();
        if (entries.get(path) === undefined) entries.set(path, path, value.length);
        return value;
      } catch {
        return undefined;
      }
    },
    set: async (group, key, value) => {
      const path = pathOf(group, key);
      const entries = await index.get();
      if (!entries.fits(path, value.length)) return;
      const incoming = `${path}.${randomBytes(6).toString('hex')}${unfinished}`;
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        const file = await open(incoming, 'wx', 0o600);
        await file.writeFile(value).finally(() => file.close());
        await rename(incoming, path);
        // Set only after the rename: removing the replaced entry would delete the new file.
        if (entries.get(path) === undefined) entries.set(path, path, value.length);
      } catch {
        remove(incoming);
      }
    },
    forget: async (group) => {
      await rm(join(directory, group), { recursive: true, force: true });
    },
  };
}

/** The files in the subdirectories of a directory, oldest first. Removes files that a killed process left unfinished. */
async function filesBelow(directory: string): Promise<{ path: string; size: number }[]> {
  const found: { path: string; size: number; at: number }[] = [];
  try {
    for await (const entry of await opendir(directory, { recursive: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      if (entry.name.endsWith(unfinished)) await rm(path, { force: true });
      else {
        const { size, mtimeMs } = await stat(path);
        found.push({ path, size, at: mtimeMs });
      }
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  return found.sort((a, b) => a.at - b.at);
}
