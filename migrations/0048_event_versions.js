// Users get the payload of a past event only if nothing has happened to its resource since.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [knex.raw('create index events_of_resource on events (project_id, resource, sequence)')];

/** @type {typeof up} */
export const down = (knex) => [knex.raw('drop index events_of_resource')];
