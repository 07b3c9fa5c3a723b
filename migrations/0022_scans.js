// Lists of documents that no index serves: how often they came and how long they took, without values. Collections are named by their numbers,
// which are never given again; rows of those that are deleted go with the next run of the job `scans.prune`.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('list_scans', (t) => {
    t.integer('collection').notNullable();
    t.text('shape').notNullable();
    t.bigInteger('lists').notNullable();
    t.bigInteger('total_ms').notNullable();
    t.bigInteger('longest_ms').notNullable();
    t.text('last_at').notNullable();
    t.primary(['collection', 'shape']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('list_scans')];
