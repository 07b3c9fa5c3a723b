// The keys that sign JWTs, of each project.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('signing_keys', (t) => {
    t.text('kid').notNullable().primary();
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('alg').notNullable();
    // Of several processes that make the next key at once one succeeds.
    t.integer('generation').notNullable();
    // As JSON; null where the key is a shared secret.
    t.text('public_jwk');
    // Sealed.
    t.text('secret').notNullable();
    t.text('signs_from').notNullable();
    // Both null until it has a successor.
    t.text('signs_until');
    t.text('published_until');
    t.text('created_at').notNullable();
    t.unique(['project_id', 'alg', 'generation']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('signing_keys')];
