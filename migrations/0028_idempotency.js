// Requests with an Idempotency-Key: who runs one, and the answer, which is kept in the commit of what the request does.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('idempotent_requests', (t) => {
    t.text('hash').notNullable().primary();
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    // `user:` and an id, `key:` and an id, or `guest:` and an address.
    t.text('caller').notNullable();
    t.text('fingerprint').notNullable();
    t.text('claim').notNullable();
    t.bigInteger('claimed_until').notNullable();
    t.bigInteger('created_at').notNullable();
    t.integer('status');
    t.text('answer');
    t.text('etag');
    t.integer('bytes').notNullable();
    t.index(['project_id', 'bytes']);
    t.index(['project_id', 'caller']);
    t.index(['created_at']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('idempotent_requests')];
