import type { Query, Sql } from '#src/platform/db/query.js';
import { auditEntries, auditSubjects } from '../../outbox/index.js';

/** A personal value by its key. */
export type SubjectKey = readonly [entryId: string, field: string];

/** SQL over personal values of entries. */
export function createErasureStore(sql: Sql) {
  const { knex } = sql;
  const subjects = auditSubjects.name;
  const ofProject = (projectId: string) =>
    knex(subjects)
      .join(auditEntries.name, `${auditEntries.name}.id`, `${subjects}.entry_id`)
      .where(`${auditEntries.name}.project_id`, projectId);
  return {
    /** Values of a user with these names. */
    valuesOf: (projectId: string, userId: string, fields: readonly string[]): Query =>
      sql.compile(
        ofProject(projectId).where('user_id', userId).whereIn('field', fields).distinct(`${subjects}.value as value`),
      ),
    /** Users who had this e-mail address when they were deleted. */
    deletedWith: (projectId: string, email: string): Query =>
      sql.compile(
        ofProject(projectId)
          .where({ action: 'accountDeleted', field: 'email', value: email })
          .whereNotNull('user_id')
          .distinct('user_id')
          .orderBy('user_id'),
      ),
    /** Users who had this e-mail address at any time. */
    heldBy: (projectId: string, email: string): Query =>
      sql.compile(
        ofProject(projectId)
          .where({ value: email })
          .whereIn('field', ['email', 'previous'])
          .whereNotNull('user_id')
          .distinct('user_id')
          .orderBy('user_id'),
      ),
    /** An entry about a user, or with a value of one. */
    anyAbout: (projectId: string, userId: string): Query =>
      sql.compile(
        knex(auditEntries.name)
          .where({ project_id: projectId })
          .where((either) =>
            either
              .where({ resource: `users/${userId}` })
              .orWhereIn('id', knex(subjects).where({ user_id: userId }).select('entry_id')),
          )
          .limit(1)
          .select('id'),
      ),
    /** Some values of a user. */
    someOf: (projectId: string, userId: string, limit: number): Query =>
      sql.compile(ofProject(projectId).where('user_id', userId).limit(limit).select('entry_id', 'field')),
    /** Where so many values after one end; no row where there are fewer. */
    windowEnd: ([entryId, field]: SubjectKey, size: number): Query =>
      sql.text(
        `select entry_id, field from audit_subjects where (entry_id, field) > (?, ?)
        order by entry_id, field limit 1 offset ${size - 1}`,
        [entryId, field],
      ),
    /** Entries within such a window that hold one of the values and belong to no user. */
    entriesWith: (
      projectId: string,
      values: readonly string[],
      [entryId, field]: SubjectKey,
      end: SubjectKey | undefined,
    ): Query => {
      const found = ofProject(projectId)
        .whereNull('user_id')
        .whereIn('value', [...values])
        .whereRaw('(entry_id, field) > (?, ?)', [entryId, field]);
      if (end !== undefined) found.whereRaw('(entry_id, field) <= (?, ?)', [...end]);
      return sql.compile(found.distinct('entry_id'));
    },
    /** Everything personal of entries that belongs to no user. */
    ownerless: (entryIds: readonly string[]): Query =>
      sql.compile(
        knex(subjects)
          .where(sql.isOneOf('entry_id', sql.list(entryIds)))
          .whereNull('user_id')
          .delete(),
      ),
    remove: (keys: readonly SubjectKey[]): Query => {
      const given = sql.dialect === 'sqlite' ? 'json_each(?)' : 'json_array_elements(?::json)';
      return sql.text(
        `delete from audit_subjects where (entry_id, field) in
          (select given.value ->> 0, given.value ->> 1 from ${given} as given)`,
        [JSON.stringify(keys)],
      );
    },
  };
}
