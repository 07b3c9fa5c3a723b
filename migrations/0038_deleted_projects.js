// Ids of projects that were deleted: their entries of the audit log stay, so the ids are never given again.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('deleted_projects', (t) => {
    t.text('id').notNullable().primary();
  }),
  // Those that the log knows of: by the entry of the deletion, or by any entry of a project that is not there. `projects/` is cut off.
  knex.raw(
    `insert into deleted_projects (id)
      select known.id from (
        select substr(resource, 10) as id from audit_entries where action = 'projectDeleted'
        union select project_id from audit_entries where project_id is not null
      ) as known
      where known.id not in (select id from projects)`,
  ),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('deleted_projects')];
