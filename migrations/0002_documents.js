// Databases and collections. The documents of a collection live in a table of its own, made when the collection is.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('databases', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('id').notNullable();
    t.text('name').notNullable();
    t.integer('enabled').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'id']);
  }),
  knex.schema.createTable('collections', (t) => {
    t.text('project_id').notNullable();
    t.text('database_id').notNullable();
    t.text('id').notNullable();
    // Names the tables; never given twice.
    t.integer('number').notNullable().unique();
    // Grows with every change; each statement on documents names the version it was made for.
    t.integer('version').notNullable();
    t.text('name').notNullable();
    t.integer('enabled').notNullable();
    t.integer('document_security').notNullable();
    t.text('permissions').notNullable();
    t.text('attributes').notNullable();
    t.text('indexes').notNullable();
    // The last number given to an attribute or index of this collection.
    t.integer('last_part').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'database_id', 'id']);
    t.foreign(['project_id', 'database_id']).references(['project_id', 'id']).inTable('databases').onDelete('CASCADE');
  }),
  knex.schema.createTable('number_sequences', (t) => {
    t.text('name').notNullable().primary();
    t.integer('last').notNullable();
  }),
  knex('number_sequences').insert({ name: 'collections', last: 0 }),
];

/** @type {(knex: import('knex').Knex, dialect: string, tables: string[]) => unknown[]} */
export const down = (knex, _dialect, tables) =>
  [...ofCollections(tables), 'number_sequences', 'collections', 'databases'].map((name) => knex.schema.dropTable(name));

/** The tables of collections; those that refer to others first. */
const ofCollections = (tables) =>
  tables
    .filter((name) => /^[dr]_\d+$/.test(name))
    .sort()
    .reverse();
