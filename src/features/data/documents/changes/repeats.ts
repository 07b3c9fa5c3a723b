import type { Runtime } from '#src/platform/index.js';
import { requireRepeatable } from '../access/access.js';
import type { Collections } from '../access/collections.js';
import type { Documents } from '../access/service.js';
import { withoutAttributesReply } from '../model/view.js';
import type { DocumentStore } from '../store/store.js';

/** Creates the answers to duplicates of changes. */
export function createRepeats(
  { db }: Pick<Runtime, 'db'>,
  collections: Collections,
  store: DocumentStore,
): Pick<Documents, 'repeated'> {
  return {
    repeated: async (where, change, kept) => {
      const { mayRead } = await collections.use(where, (collection) =>
        requireRepeatable(db, store, where, collection, change),
      );
      const answer = kept();
      return mayRead || answer === undefined ? answer : withoutAttributesReply(answer);
    },
  };
}
