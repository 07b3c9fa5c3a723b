// How many documents the operations of a transaction change: whoever names it in a request pays for all of them.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('transactions', (t) => {
    t.integer('documents').notNullable().defaultTo(0);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.raw('alter table transactions drop column documents')];
