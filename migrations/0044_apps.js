// Apps are platforms beside web pages. The id of an app stands in the column of hostnames, and one id may belong to apps of several types.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('platforms', (t) => {
    t.text('type').notNullable().defaultTo('web');
    t.dropUnique(['project_id', 'hostname']);
    t.unique(['project_id', 'type', 'hostname']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [
  // An id such as com.example would become a hostname.
  knex.raw("delete from platforms where type <> 'web'"),
  knex.schema.alterTable('platforms', (t) => {
    t.dropUnique(['project_id', 'type', 'hostname']);
    t.unique(['project_id', 'hostname']);
  }),
  knex.raw('alter table platforms drop column type'),
];
