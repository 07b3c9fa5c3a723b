// Transactions of documents, and the operations that wait in them for the commit.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('transactions', (t) => {
    t.text('id').notNullable().primary();
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    // `user:` and an id, or `key:` and an id.
    t.text('owner').notNullable();
    t.text('status').notNullable();
    t.integer('operations').notNullable();
    t.bigInteger('bytes').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.text('expires_at').notNullable();
    t.index(['project_id', 'owner', 'created_at']);
    t.index(['project_id', 'status', 'bytes']);
    t.index(['expires_at']);
  }),
  knex.schema.createTable('transaction_operations', (t) => {
    t.text('transaction_id').notNullable().references('transactions.id').onDelete('CASCADE');
    t.integer('position').notNullable();
    t.text('call').notNullable();
    // The state of its document when it was staged; empty where there was none.
    t.text('base');
    t.primary(['transaction_id', 'position']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('transaction_operations'), knex.schema.dropTable('transactions')];
