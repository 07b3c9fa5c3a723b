// The channels of messages that do not accept any at the moment, so that of all processes one writes the line about it, and one the line when it is over.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('message_outages', (t) => {
    t.text('channel').notNullable().primary();
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('message_outages')];
