import { type FileStore, ObjectNotFoundError } from './store.js';

/**
 * A store whose objects are being copied from an old one: writes go to the new store, and objects that it does not have yet are read from
 * the old one.
 */
export function createMovingStore(store: FileStore, old: FileStore): FileStore {
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
