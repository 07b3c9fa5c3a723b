// Teams and who is in them. What a user has joined stands in users.memberships, too.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('teams', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('id').notNullable();
    t.text('name').notNullable();
    t.text('prefs').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'id']);
    t.index(['project_id', 'created_at', 'id']);
  }),
  knex.schema.createTable('memberships', (t) => {
    t.text('project_id').notNullable();
    t.text('id').notNullable().primary();
    t.text('team_id').notNullable();
    t.text('user_id').notNullable();
    t.text('roles').notNullable();
    // What the invitation named of the invited, which is all that the team may know before it is accepted.
    t.text('invited_as').notNullable();
    // The address that the invitation went to, and the digest of its secret; null where nobody was asked.
    t.text('recipient');
    t.text('secret_digest');
    t.text('invited').notNullable();
    t.text('joined');
    t.integer('confirm').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.foreign(['project_id', 'team_id']).references(['project_id', 'id']).inTable('teams').onDelete('CASCADE');
    t.foreign(['project_id', 'user_id']).references(['project_id', 'id']).inTable('users').onDelete('CASCADE');
    t.unique(['project_id', 'team_id', 'user_id']);
    t.index(['project_id', 'user_id']);
    t.index(['project_id', 'team_id', 'confirm']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.schema.dropTable('memberships'),
  knex.schema.dropTable('teams'),
  knex('users').update({ memberships: '[]' }),
];
