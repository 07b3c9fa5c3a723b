// Test deliveries are told from those of events: they are never replayed. Those made before are known by their number, which no event has.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('deliveries', (t) => t.integer('test').notNullable().defaultTo(0)),
  knex.raw(`update deliveries set test = 1 where substr(body, 1, 200) like '%"sequence":0,"projectId":%'`),
];

/** @type {typeof up} */
export const down = (knex) => [knex.raw('alter table deliveries drop column test')];
