// Identity providers of a project, the accounts with them by which users log in, and logins that are under way at one of them.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('providers', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('key').notNullable();
    // Which protocol it speaks, and so what its configuration holds.
    t.text('kind').notNullable();
    t.text('name').notNullable();
    t.integer('enabled').notNullable();
    // Sealed, as it holds the client secret.
    t.text('config').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'key']);
  }),
  knex.schema.createTable('identities', (t) => {
    t.text('project_id').notNullable();
    t.text('id').notNullable();
    t.text('user_id').notNullable();
    t.text('provider').notNullable();
    t.text('provider_uid').notNullable();
    t.text('provider_email').notNullable();
    // Sealed; null where the provider issues none.
    t.text('tokens');
    t.text('token_expires');
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'id']);
    t.unique(['project_id', 'provider', 'provider_uid']);
    t.index(['project_id', 'user_id']);
    t.foreign(['project_id', 'user_id']).references(['project_id', 'id']).inTable('users').onDelete('CASCADE');
    // Another provider under the same key would name other people by the same ids.
    t.foreign(['project_id', 'provider']).references(['project_id', 'key']).inTable('providers').onDelete('CASCADE');
  }),
  knex.schema.createTable('login_transactions', (t) => {
    // The digest of the state that goes through the browser.
    t.text('id').notNullable().primary();
    t.text('project_id').notNullable();
    t.text('provider').notNullable();
    t.text('flow').notNullable();
    t.text('success').notNullable();
    t.text('failure').notNullable();
    // Whose session began it; null for a login.
    t.text('user_id');
    t.text('session_id');
    // The cookie that the browser has to bring back; null where the state alone counts.
    t.text('binding_id');
    t.text('binding_digest');
    // Sealed: what the protocol has to remember.
    t.text('data').notNullable();
    t.text('expire').notNullable();
    t.text('created_at').notNullable();
    t.foreign(['project_id', 'provider']).references(['project_id', 'key']).inTable('providers').onDelete('CASCADE');
    t.index(['expire']);
  }),
];

/** @type {typeof up} */
export const down = (knex) =>
  ['login_transactions', 'identities', 'providers'].map((name) => knex.schema.dropTable(name));
