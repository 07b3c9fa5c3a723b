// The keys of the service towards SAML providers: one signs requests, for the other one assertions are encrypted.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('saml_keys', (t) => {
    t.text('project_id').notNullable();
    t.text('provider').notNullable();
    t.text('secrets').notNullable();
    t.text('signing_certificate').notNullable();
    t.text('encryption_certificate').notNullable();
    t.text('created_at').notNullable();
    t.primary(['project_id', 'provider']);
    t.foreign(['project_id', 'provider']).references(['project_id', 'key']).inTable('providers').onDelete('CASCADE');
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('saml_keys')];
