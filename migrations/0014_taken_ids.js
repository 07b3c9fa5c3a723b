// Ids of users and teams that were deleted: permissions, logs and tokens may still name them, so they are never given again.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('taken_ids', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('kind').notNullable();
    t.text('id').notNullable();
    t.primary(['project_id', 'kind', 'id']);
  }),
  // Those that the log knows of. `users/` and `teams/` are of one length.
  ...[
    ['user', 'accountDeleted'],
    ['team', 'teamDeleted'],
  ].map(([kind, action]) =>
    knex.raw(
      `insert into taken_ids (project_id, kind, id)
        select distinct project_id, '${kind}', substr(resource, 7) from audit_entries
        where action = '${action}' and project_id in (select id from projects)`,
    ),
  ),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('taken_ids')];
