import type { Query, Sql } from '#src/platform/db/query.js';
import { bind } from '#src/platform/runtime/bind.js';
import { auditEntries, auditSubjects } from '../../outbox/index.js';

/** The primary key of a personal value. */
export type SubjectKey = readonly [entryId: string, field: string];

/** SQL over the personal values of entries. */
export function createErasureStore(sql: Sql) {
  return {
    ...bind(sql, { valuesOf, deletedWith, heldBy, anyAbout, someOf }),
    ...bind(sql, { windowEnd, entriesWith, ownerless, remove }),
  };
}

function valuesOfProject({ knex }: Sql, projectId: string) {
  return knex(auditSubjects.name)
    .join(auditEntries.name, `${auditEntries.name}.id`, `${auditSubjects.name}.entry_id`)
    .where(`${auditEntries.name}.project_id`, projectId);
}

/** Values of a user in these fields. */
function valuesOf(sql: Sql, projectId: string, userId: string, fields: readonly string[]): Query {
  const values = valuesOfProject(sql, projectId).where('user_id', userId).whereIn('field', fields);
  return sql.compile(values.distinct(`${auditSubjects.name}.value as value`));
}

/** Users who had this email address when they were deleted. */
function deletedWith(sql: Sql, projectId: string, email: string): Query {
  const values = valuesOfProject(sql, projectId).where({ action: 'accountDeleted', field: 'email', value: email });
  return sql.compile(values.whereNotNull('user_id').distinct('user_id').orderBy('user_id'));
}

/** Users who had this email address at any time. */
function heldBy(sql: Sql, projectId: string, email: string): Query {
  const values = valuesOfProject(sql, projectId).where({ value: email }).whereIn('field', ['email', 'previous']);
  return sql.compile(values.whereNotNull('user_id').distinct('user_id').orderBy('user_id'));
}

/** An entry about a user, or with a personal value of the user. */
function anyAbout(sql: Sql, projectId: string, userId: string): Query {
  const { knex } = sql;
  const withValue = knex(auditSubjects.name).where({ user_id: userId }).select('entry_id');
  return sql.compile(
    knex(auditEntries.name)
      .where({ project_id: projectId })
      .where((either) => either.where({ resource: `users/${userId}` }).orWhereIn('id', withValue))
      .limit(1)
      .select('id'),
  );
}

/** Keys of a user's values. */
function someOf(sql: Sql, projectId: string, userId: string, limit: number): Query {
  const values = valuesOfProject(sql, projectId).where('user_id', userId).limit(limit);
  return sql.compile(values.select('entry_id', 'field'));
}

/** The key of the last value in a window of `size` values after a key. No row if there are fewer. */
function windowEnd(sql: Sql, [entryId, field]: SubjectKey, size: number): Query {
  return sql.text(
    `select entry_id, field from audit_subjects where (entry_id, field) > (?, ?)
        order by entry_id, field limit 1 offset ${size - 1}`,
    [entryId, field],
  );
}

/** Entries in a window with one of the values and without a user. */
function entriesWith(
  sql: Sql,
  projectId: string,
  values: readonly string[],
  [entryId, field]: SubjectKey,
  end: SubjectKey | undefined,
): Query {
  const found = valuesOfProject(sql, projectId)
    .whereNull('user_id')
    .whereIn('value', [...values])
    .whereRaw('(entry_id, field) > (?, ?)', [entryId, field]);
  if (end !== undefined) found.whereRaw('(entry_id, field) <= (?, ?)', [...end]);
  return sql.compile(found.distinct('entry_id'));
}

/** Deletes the personal values of entries that belong to no user. */
function ownerless(sql: Sql, entryIds: readonly string[]): Query {
  const values = sql.knex(auditSubjects.name).where(sql.isOneOf('entry_id', sql.list(entryIds)));
  return sql.compile(values.whereNull('user_id').delete());
}

function remove(sql: Sql, keys: readonly SubjectKey[]): Query {
  return sql.text(
    `delete from audit_subjects where (entry_id, field) in
          (select given.value ->> 0, given.value ->> 1 from ${sql.words.eachInJson('given')})`,
    [JSON.stringify(keys)],
  );
}
