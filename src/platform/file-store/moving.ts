import { type FileStore, ObjectNotFoundError } from './store.js';

/** A store whose objects are being copied from another: writes go to the new one, and what is not there yet is read from the old one. */
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
      // It may have been copied, and the old one removed, in between.
      return store.read(key, range);
    },
    size: async (key) => (await store.size(key)) ?? (await old.size(key)),
    // The old one first: a copy begins with it, so none can bring the object back afterwards.
    remove: async (key) => {
      await old.remove(key);
      await store.remove(key);
    },
    list: async function* (prefix) {
      yield* store.list(prefix);
      for await (const object of old.list(prefix)) if ((await store.size(object.key)) === undefined) yield object;
    },
    close: async () => {
      await store.close();
      await old.close();
    },
  };
}
