// Passkeys: the public keys by which users log in, and the challenges of ceremonies under way (WebAuthn L3).

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('passkeys', (t) => {
    t.text('id').notNullable();
    t.text('project_id').notNullable();
    t.text('user_id').notNullable();
    t.text('credential_id').notNullable();
    t.text('public_key').notNullable();
    // Authenticators that count their signatures never go back; those that do not count stay at 0.
    t.bigInteger('counter').notNullable();
    t.integer('backup_eligible').notNullable();
    t.text('name').notNullable();
    t.text('accessed_at');
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'id']);
    t.unique(['project_id', 'credential_id']);
    t.index(['project_id', 'user_id']);
    t.foreign(['project_id', 'user_id']).references(['project_id', 'id']).inTable('users').onDelete('CASCADE');
  }),
  knex.schema.createTable('webauthn_challenges', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('digest').notNullable();
    t.text('purpose').notNullable();
    // A keyed digest of whom it was made for.
    t.text('subject').notNullable();
    t.text('expire').notNullable().index();
    t.text('created_at').notNullable();
    t.primary(['project_id', 'digest']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => ['webauthn_challenges', 'passkeys'].map((name) => knex.schema.dropTable(name));
