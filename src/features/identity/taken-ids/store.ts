import type { Query, Sql } from '#src/platform/db/query.js';
import { table, text } from '#src/platform/db/table.js';

/** Ids of users and teams that were deleted. */
export const takenIds = table('taken_ids', { projectId: text, kind: text, id: text });

/** SQL over the ids of deleted users and teams. */
export function createTakenIdStore(sql: Sql) {
  const { knex } = sql;
  return {
    insert: (row: ReturnType<typeof takenIds.decode>): Query =>
      sql.compile(knex(takenIds.name).insert(takenIds.encode(row)).onConflict().ignore()),
    find: sql.prepare<{ projectId: string; kind: string; id: string }>((k, p) =>
      k(takenIds.name).where({ project_id: p.projectId, kind: p.kind, id: p.id }).select('id'),
    ),
  };
}
