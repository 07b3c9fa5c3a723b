import { randomBytes } from 'node:crypto';
import { mkdir, open, opendir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from './files.js';
import { lazy } from './lazy.js';
import { Lru } from './lru.js';

/** Values that can be computed again, kept in files below a directory. What goes wrong with them is a miss. */
interface DiskCache {
  /** Bytes of the value of a key of the group; undefined where it is not kept. */
  sizeOf(group: string, key: string): Promise<number | undefined>;
  /** The value; undefined where it is not kept. */
  get(group: string, key: string): Promise<Buffer | undefined>;
  set(group: string, key: string, value: Buffer): Promise<void>;
  /** Removes all values of a group, also those that other processes have written. */
  forget(group: string): Promise<void>;
}

/** Bytes of all values, and of the largest that is kept. */
interface DiskCacheBounds {
  readonly bytes: number;
  readonly entries: number;
  readonly largest: number;
}

const unfinished = '.incoming';

/**
 * Creates a cache below a directory, whose files count from the first use on. Groups and keys are names of files, made by us. Each process keeps the
 * bounds for the files that it has seen.
 */
export function createDiskCache(directory: string, bounds: DiskCacheBounds): DiskCache {
  const pathOf = (group: string, key: string) => join(directory, group, key);
  const remove = (path: string): void => {
    // The directory of a group goes with its last file; it cannot be removed before.
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
        // Not before: the entry that it replaces would remove the new file.
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

/** The files of a directory's directories, the oldest first; what a killed process has left unfinished is removed. */
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
