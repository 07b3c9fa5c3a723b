// Answers of identity providers that count once, such as assertions of SAML, for as long as they could be presented again. They outlast their
// provider: one that is added anew under its key must not accept them either.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('used_answers', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('provider').notNullable();
    t.text('answer').notNullable();
    t.text('expire').notNullable();
    t.primary(['project_id', 'provider', 'answer']);
    t.index(['expire']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('used_answers')];
