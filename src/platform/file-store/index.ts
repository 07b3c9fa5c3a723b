import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { type FilesLocation, parseFilesUrl } from '../config/files-url.js';
import type { Config } from '../config/schema.js';
import type { Secret } from '../config/secret.js';
import { lazy } from '../runtime/lazy.js';
import { createDiskStore, type Owner } from './disk.js';
import type { S3Deps } from './s3.js';
import { type FileStore, FileStoreError, ObjectNotFoundError } from './store.js';

export { type CopyProgress, copyObjects } from './copy.js';
export type { Owner } from './disk.js';
export { type FileStore, FileStoreError, ObjectDamagedError, ObjectNotFoundError } from './store.js';

type FilesConfig = Pick<Config, 'filesUrl' | 'filesFrom' | 'filesKeyId' | 'filesSecret' | 'dataDir'>;
interface Deps extends Pick<S3Deps, 'log'> {
  /** Owner of new files, if not the user of this process. */
  readonly owner?: Owner | undefined;
  /** Bytes of one request to S3, which takes at most 10,000 for an object. */
  readonly partBytes?: number;
}

/** Opens the configured store; nothing is created or connected before the first use. */
export function openFileStore(config: FilesConfig, deps: Deps): FileStore {
  const store = openFileStoreAt(config.filesUrl, config, deps);
  return config.filesFrom === undefined
    ? store
    : createMovingStore(store, openFileStoreAt(config.filesFrom, config, deps));
}

/** The location for a value of `SVC_FILES_URL`; by default `files` in the data directory. */
export function filesLocation(url: Secret | undefined, { dataDir }: Pick<Config, 'dataDir'>): FilesLocation {
  return (url && parseFilesUrl(url.reveal())) ?? { kind: 'disk', directory: resolve(dataDir, 'files') };
}

/** Opens the store at a value of `SVC_FILES_URL`, with the configured key. */
export function openFileStoreAt(url: Secret | undefined, config: FilesConfig, deps: Deps): FileStore {
  return openLocation(filesLocation(url, config), config, deps);
}

/** Opens the store at a location, with the configured key. */
export function openLocation(
  location: FilesLocation,
  config: Pick<FilesConfig, 'filesKeyId' | 'filesSecret' | 'dataDir'>,
  { log, owner, partBytes }: Deps,
): FileStore {
  if (location.kind === 'disk') return createDiskStore(resolve(location.directory), owner);
  const { filesKeyId: keyId, filesSecret: secret } = config;
  if (keyId === undefined || secret === undefined) throw new TypeError('no key of the S3 service is configured');
  const directory = resolve(config.dataDir);
  return deferred(async () =>
    (await import('./s3.js')).createS3Store({ location, keyId, secret, directory, log, partBytes }),
  );
}

/** A store that is opened on first use. */
function deferred(open: () => Promise<FileStore>): FileStore {
  const store = lazy(open);
  return {
    write: async (key, bytes, options) => (await store.get()).write(key, bytes, options),
    read: async (key, range) => (await store.get()).read(key, range),
    size: async (key) => (await store.get()).size(key),
    remove: async (key) => (await store.get()).remove(key),
    list: async function* (prefix, options) {
      yield* (await store.get()).list(prefix, options);
    },
    removeRemains: async (isRemain) => (await store.get()).removeRemains(isRemain),
    close: async () => {
      if (store.isMade()) await (await store.get()).close();
    },
  };
}

/**
 * A store whose objects are being copied from an old one: writes go to the new store, and objects that it does not have yet are read from
 * the old one.
 */
function createMovingStore(store: FileStore, old: FileStore): FileStore {
  return {
    write: store.write,
    read: async (key, range) => {
      try {
        return await store.read(key, range);
      } catch (error) {
        if (!(error instanceof ObjectNotFoundError)) throw error;
      }
      try {
        return await old.read(key, range);
      } catch (error) {
        if (!(error instanceof ObjectNotFoundError)) throw error;
      }
      // The object may have been copied, and removed from the old store, in between.
      return store.read(key, range);
    },
    size: async (key) => (await store.size(key)) ?? (await old.size(key)),
    // Removes from the old store first: a copy reads from it, so no copy can restore the object afterwards.
    remove: async (key) => {
      await old.remove(key);
      await store.remove(key);
    },
    list: async function* (prefix, options) {
      yield* store.list(prefix, options);
      for await (const object of old.list(prefix, options))
        if ((await store.size(object.key)) === undefined) yield object;
    },
    removeRemains: store.removeRemains,
    close: async () => {
      await store.close();
      await old.close();
    },
  };
}

/** Writes, reads and removes a small object. Returns the reason of a failure; undefined on success. */
export async function probeFileStore(store: FileStore): Promise<string | undefined> {
  const sent = randomBytes(32);
  const key = `probe/${sent.toString('hex', 0, 8)}`;
  try {
    await store.write(key, Readable.from([sent]));
    const received: Uint8Array[] = [];
    for await (const piece of await store.read(key)) received.push(piece);
    await store.remove(key);
    return Buffer.concat(received).equals(sent) ? undefined : 'an object was read back with other bytes';
  } catch (error) {
    if (error instanceof FileStoreError) return error.reason;
    throw error;
  }
}
