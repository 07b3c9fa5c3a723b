// Each server announces how much of a rate limit it holds for the callers that use it most, so that all servers together keep the limit.
// Null in the rows of servers that do not announce it.

export const usableFrom = '0.1.0';

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [knex.schema.alterTable('servers', (t) => t.text('claims'))];

/** @type {typeof up} */
export const down = (knex) => [knex.raw('alter table servers drop column claims')];
