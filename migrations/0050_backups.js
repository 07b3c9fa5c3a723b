// Backups: those that this installation has made, and when each was verified. `file` is the path or URL of an archive. The archives themselves
// may be gone. Only archives with `is_own` are deleted as old ones; a restore sets it to 0, because the database may be a copy then.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('backups', (t) => {
    t.text('file').notNullable();
    t.text('created_at').notNullable();
    t.bigInteger('bytes').notNullable();
    t.text('verified_at');
    t.integer('is_own').notNullable();
    t.primary(['file']);
  }),
];

/** @type {typeof up} */
export const down = (knex) => [knex.schema.dropTable('backups')];
