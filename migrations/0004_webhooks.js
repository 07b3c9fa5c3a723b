// Webhooks, the numbers that events get when they are fanned out, and the deliveries with every attempt.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('webhooks', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('id').notNullable();
    t.text('name').notNullable();
    t.text('url').notNullable();
    t.text('events').notNullable();
    t.integer('enabled').notNullable();
    t.integer('tls').notNullable();
    t.text('auth_username').notNullable();
    // Sealed, like the secrets.
    t.text('auth_password');
    t.text('secret').notNullable();
    // The secret before the last rotation, and until when it signs too.
    t.text('previous_secret');
    t.text('previous_until');
    // Failures since the last success, the last of them in words, and when the first of them was.
    t.integer('attempts').notNullable();
    t.text('logs').notNullable();
    t.text('failing_since');
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'id']);
  }),
  knex.schema.createTable('event_sequences', (t) => {
    t.text('project_id').notNullable().primary().references('projects.id').onDelete('CASCADE');
    t.bigInteger('last').notNullable();
  }),
  knex.schema.createTable('deliveries', (t) => {
    t.text('id').notNullable().primary();
    t.text('project_id').notNullable();
    t.text('webhook_id').notNullable();
    t.text('event_id').notNullable();
    t.text('event').notNullable();
    t.text('state').notNullable();
    // Attempts that have ended; a replay begins anew.
    t.integer('attempt').notNullable();
    // When somebody has to look at it: for the next attempt, or because the lease of this one is over. Null when all is done.
    t.text('due_at');
    t.text('owner');
    t.integer('fence').notNullable();
    t.integer('replayed').notNullable();
    t.text('body').notNullable();
    // When the event happened.
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.foreign(['project_id', 'webhook_id']).references(['project_id', 'id']).inTable('webhooks').onDelete('CASCADE');
    t.unique(['event_id', 'webhook_id']);
    t.index(['project_id', 'webhook_id', 'created_at']);
  }),
  knex.schema.createTable('delivery_attempts', (t) => {
    t.text('id').notNullable().primary();
    t.text('project_id').notNullable();
    t.text('webhook_id').notNullable();
    t.text('delivery_id').notNullable().references('deliveries.id').onDelete('CASCADE');
    t.text('event_id').notNullable();
    t.text('event').notNullable();
    t.integer('attempt').notNullable();
    t.text('state').notNullable();
    t.integer('status_code').notNullable();
    t.integer('ok').notNullable();
    t.text('error').notNullable();
    t.integer('duration_ms').notNullable();
    t.text('next_attempt_at');
    t.text('response').notNullable();
    t.text('created_at').notNullable();
    t.index(['delivery_id']);
    t.index(['project_id', 'webhook_id', 'created_at', 'id']);
  }),
  // Whoever claims looks at what waits only, one webhook after the other; the second tells the age of the oldest.
  knex.raw('create index deliveries_due on deliveries (project_id, webhook_id, due_at) where due_at is not null'),
  knex.raw('create index deliveries_waiting on deliveries (created_at) where due_at is not null'),
  // Events are fanned out one project at a time.
  knex.raw('drop index events_waiting'),
  knex.raw('create index events_waiting on events (project_id, id) where dispatched_at is null'),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.raw('drop index events_waiting'),
  knex.raw('create index events_waiting on events (id) where dispatched_at is null'),
  ...['delivery_attempts', 'deliveries', 'event_sequences', 'webhooks'].map((name) => knex.schema.dropTable(name)),
];
