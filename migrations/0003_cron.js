// Jobs: which process runs one, until when, and how its last run went.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('cron_jobs', (t) => {
    t.text('name').notNullable().primary();
    t.text('owner');
    t.text('lease_until');
    // Grows with every lease; who holds an older one cannot write a result.
    t.bigInteger('fence').notNullable();
    // The latest slot that was run to its end.
    t.text('last_slot').notNullable();
    t.text('last_started_at');
    t.text('last_finished_at');
    t.text('last_success_at');
    t.bigInteger('last_duration_ms');
    t.text('last_error');
    t.text('created_at').notNullable();
  }),
  // Sessions that nobody has used for long are looked for every minute.
  knex.schema.alterTable('sessions', (t) => t.index(['accessed_at'])),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.schema.alterTable('sessions', (t) => t.dropIndex(['accessed_at'])),
  knex.schema.dropTable('cron_jobs'),
];
