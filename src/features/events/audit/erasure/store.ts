import type { Query, Sql } from '#src/platform/db/query.js';
import { oneOf, raw, type SqlPart } from '#src/platform/db/template.js';
import { bind } from '#src/platform/runtime/bind.js';

/** The primary key of a personal value. */
export type SubjectKey = readonly [entryId: string, field: string];

/** SQL over the personal values of entries. */
export function createErasureStore(sql: Sql) {
  return {
    /** Values of a user in these fields. */
    valuesOf: (projectId: string, userId: string, fields: readonly string[]) => sql`
      select distinct audit_subjects.value as found ${valuesOfProject(sql, projectId)}
      and user_id = ${userId} and field ${oneOf(fields)}`,
    /** Users who had this email address when they were deleted. */
    deletedWith: (projectId: string, email: string) => sql`
      select distinct user_id as found ${valuesOfProject(sql, projectId)}
      and action = 'accountDeleted' and field = 'email' and value = ${email} and user_id is not null order by user_id`,
    /** Users who had this email address at any time. */
    heldBy: (projectId: string, email: string) => sql`
      select distinct user_id as found ${valuesOfProject(sql, projectId)}
      and value = ${email} and field in ('email', 'previous') and user_id is not null order by user_id`,
    /** An entry about a user, or with a personal value of the user. */
    anyAbout: (projectId: string, userId: string) => sql`
      select id from audit_entries where project_id = ${projectId}
        and (resource = ${`users/${userId}`} or id in (select entry_id from audit_subjects where user_id = ${userId}))
      limit 1`,
    /** Keys of a user's values. */
    someOf: (projectId: string, userId: string, limit: number) =>
      sql`select entry_id, field ${valuesOfProject(sql, projectId)} and user_id = ${userId} limit ${limit}`,
    /** The key of the last value in a window of `size` values after a key. No row if there are fewer. */
    windowEnd: ([entryId, field]: SubjectKey, size: number) => sql`
      select entry_id, field from audit_subjects where (entry_id, field) > (${entryId}, ${field})
      order by entry_id, field limit 1 offset ${size - 1}`,
    /** Deletes the personal values of entries that belong to no user. */
    ownerless: (entryIds: readonly string[]) =>
      sql`delete from audit_subjects where entry_id ${oneOf(entryIds)} and user_id is null`,
    ...bind(sql, { entriesWith, remove }),
  };
}

function valuesOfProject(sql: Sql, projectId: string): SqlPart {
  return sql`
    from audit_subjects join audit_entries on audit_entries.id = audit_subjects.entry_id
    where audit_entries.project_id = ${projectId}`;
}

/** Entries in a window with one of the values and without a user. */
function entriesWith(
  sql: Sql,
  projectId: string,
  values: readonly string[],
  [entryId, field]: SubjectKey,
  end: SubjectKey | undefined,
): Query {
  return sql`
    select distinct entry_id ${valuesOfProject(sql, projectId)}
    and user_id is null and value ${oneOf(values)} and (entry_id, field) > (${entryId}, ${field})
    ${end !== undefined && sql`and (entry_id, field) <= (${end[0]}, ${end[1]})`}`;
}

function remove(sql: Sql, keys: readonly SubjectKey[]): Query {
  const given = raw(sql.words.eachInJson('given'), [JSON.stringify(keys)]);
  return sql`
    delete from audit_subjects where (entry_id, field) in (select given.value ->> 0, given.value ->> 1 from ${given})`;
}
