// The images that stand on the hosted pages of projects.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('project_logos', (t) => {
    t.text('project_id').notNullable().primary().references('projects.id').onDelete('CASCADE');
    t.text('type').notNullable();
    // As base64.
    t.text('content').notNullable();
    t.text('digest').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('project_logos')];
