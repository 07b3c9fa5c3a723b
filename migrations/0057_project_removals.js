// Projects whose deletion has begun. Their rows are removed step by step; the row of the project goes last, and this one with it.

export const usableFrom = '0.1.0';

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('project_removals', (t) => {
    t.text('project_id').notNullable().primary().references('id').inTable('projects').onDelete('CASCADE');
    t.text('worked_at').notNullable();
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('project_removals')];
