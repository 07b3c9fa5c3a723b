// Second factors: authenticators, recovery codes, and the challenges by which they are proved.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('authenticators', (t) => {
    t.text('project_id').notNullable();
    t.text('user_id').notNullable();
    t.text('type').notNullable();
    t.text('sealed_seed').notNullable();
    // Pending until a code has shown that the user has the seed too.
    t.integer('verified').notNullable();
    // The last step whose code was accepted; it and all before it are spent.
    t.bigInteger('last_step').notNullable();
    t.text('created_at').notNullable();
    t.primary(['project_id', 'user_id', 'type']);
    t.foreign(['project_id', 'user_id']).references(['project_id', 'id']).inTable('users').onDelete('CASCADE');
  }),
  knex.schema.createTable('recovery_codes', (t) => {
    t.text('project_id').notNullable();
    t.text('user_id').notNullable();
    t.text('digest').notNullable();
    t.text('used_at');
    t.text('created_at').notNullable();
    t.primary(['project_id', 'user_id', 'digest']);
    t.foreign(['project_id', 'user_id']).references(['project_id', 'id']).inTable('users').onDelete('CASCADE');
  }),
  knex.schema.createTable('challenges', (t) => {
    t.text('id').notNullable().unique();
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('user_id').notNullable();
    t.text('session_id').notNullable().references('sessions.id').onDelete('CASCADE');
    t.text('factor').notNullable();
    t.text('expire').notNullable();
    t.text('created_at').notNullable();
    // A new one takes the place of the old one.
    t.primary(['session_id', 'factor']);
  }),
];

/** @type {typeof up} */
export const down = (knex) =>
  ['challenges', 'recovery_codes', 'authenticators'].map((name) => knex.schema.dropTable(name));
