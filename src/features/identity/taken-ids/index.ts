import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { createTakenIdStore, type takenIds } from './store.js';

/** An id within its project. */
type TakenId = ReturnType<typeof takenIds.decode> & { readonly kind: 'user' | 'team' };

/** The registry of deleted ids. */
export interface TakenIds {
  /** Reserves the id of a user or team that this unit deletes. */
  keep(unit: Unit, taken: TakenId): Promise<void>;
  /**
   * True if a deleted user or team had the id. Call it after inserting: an insert that waited for a concurrent deletion sees the reserved
   * id only then.
   */
  has(reader: Reader, id: TakenId): Promise<boolean>;
}

/**
 * Ids of deleted users and teams. They are never reused: permissions, logs and tokens refer to users and teams by id, so a new holder would
 * inherit what belonged to the old one.
 */
export function createTakenIds({ sql }: Pick<Runtime, 'sql'>): TakenIds {
  const store = createTakenIdStore(sql);
  return {
    keep: async (unit, taken) => {
      await unit.run(store.insert(taken));
    },
    has: async (reader, id) => (await reader.one(store.find(id))) !== undefined,
  };
}
