import type { Sql } from '#src/platform/db/query.js';
import { table, text } from '#src/platform/db/table.js';

/** Ids of users and teams that were deleted. */
export const takenIds = table('taken_ids', { projectId: text, kind: text, id: text });

/** SQL over the ids of deleted users and teams. */
export function createTakenIdStore(sql: Sql) {
  return {
    insert: (row: ReturnType<typeof takenIds.decode>) => sql`${takenIds.insert(row)} on conflict do nothing`,
    find: ({ projectId, kind, id }: ReturnType<typeof takenIds.decode>) =>
      sql`select id from taken_ids where project_id = ${projectId} and kind = ${kind} and id = ${id}`,
  };
}
