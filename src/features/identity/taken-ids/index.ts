import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { createTakenIdStore, type takenIds } from './store.js';

/** An id within its project. */
type TakenId = ReturnType<typeof takenIds.decode> & { readonly kind: 'user' | 'team' };

/**
 * Ids that are never given twice: permissions, logs and tokens name users and teams by their ids, and the next holder of one would be taken
 * for the one before.
 */
export function createTakenIds({ sql }: Pick<Runtime, 'sql'>) {
  const store = createTakenIdStore(sql);
  return {
    /** Keeps the id of somebody who is deleted in this unit. */
    keep: async (unit: Unit, taken: TakenId): Promise<void> => {
      await unit.run(store.insert(taken));
    },
    /**
     * Whether a deleted user or team had the id. Who creates something under an id asks after the insert: an insert that has waited for a
     * deletion sees only then what the deletion left.
     */
    has: async (reader: Reader, id: TakenId): Promise<boolean> => (await reader.one(store.find(id))) !== undefined,
  };
}

/** Ids of users and teams that were deleted. */
export type TakenIds = ReturnType<typeof createTakenIds>;
