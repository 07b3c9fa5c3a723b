// When a rate-limit counter was counted last: after the clock was set back, the counter goes on from there.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('limit_counters', (t) => t.bigInteger('counted_at').notNullable().defaultTo(0)),
];

/** @type {typeof up} */
export const down = (knex) => [knex.raw('alter table limit_counters drop column counted_at')];
