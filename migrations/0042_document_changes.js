// On Postgres every statement that changes documents leaves a row in collection_counts with its transaction, so that a list knows if a total
// that was counted before still holds. A job adds the trigger to existing collections, and `collections.tracked` says which have it.

export const usableFrom = '0.1.0';

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => [
  knex.schema.alterTable('collections', (t) => {
    t.integer('tracked').notNullable().defaultTo(0);
  }),
  ...(dialect === 'sqlite'
    ? []
    : [
        knex.raw('alter table collection_counts add column changed xid8 not null default pg_current_xact_id()'),
        knex.raw('drop index collection_counts_number_index'),
        knex.raw('create index collection_counts_number_index on collection_counts (number, changed)'),
        knex.raw(
          'create function documents_changed() returns trigger language plpgsql as $$ begin insert into collection_counts (number, documents) values (cast(tg_argv[0] as bigint), 0); return null; end $$',
        ),
      ]),
];

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres', tables: string[]) => unknown[]} */
export const down = (knex, dialect, tables) => [
  ...(dialect === 'sqlite'
    ? []
    : [
        ...tables
          .filter((name) => /^d_\d+$/.test(name))
          .map((name) => knex.raw(`drop trigger if exists ${name}_changed on ${name}`)),
        knex.raw('drop function documents_changed()'),
        knex.raw('drop index collection_counts_number_index'),
        knex.raw('alter table collection_counts drop column changed'),
        knex.raw('create index collection_counts_number_index on collection_counts (number)'),
      ]),
  knex.raw('alter table collections drop column tracked'),
];
