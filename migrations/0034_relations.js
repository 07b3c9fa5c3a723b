// The relationships that collections take part in. The pairs of documents of a relationship live in a table of its own, made when it is.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('collections', (t) => {
    t.text('relations').notNullable().defaultTo('[]');
  }),
];

/** @type {(knex: import('knex').Knex, dialect: string, tables: string[]) => unknown[]} */
export const down = (knex, _dialect, tables) => [
  ...tables.filter((name) => /^l_\d+_\d+$/.test(name)).map((name) => knex.schema.dropTable(name)),
  knex.raw('alter table collections drop column relations'),
];
