// The servers that use the database. The wrapped key of an audit key may change, as it does with another master key; nothing else of it may.

export const usableFrom = '0.1.0';

const fixed = 'id, public_key, secret, created_at';

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => [
  knex.schema.createTable('servers', (t) => {
    t.text('id').notNullable().primary();
    t.text('host').notNullable();
    t.bigInteger('pid').notNullable();
    t.text('version').notNullable();
    // The file that holds the master key; null if it is in the environment.
    t.text('key_file');
    t.text('started_at').notNullable();
    t.text('seen_at').notNullable();
  }),
  ...keep(knex, dialect, ` of ${fixed}`),
];

/** @type {typeof up} */
export const down = (knex, dialect) => [...keep(knex, dialect, ''), knex.schema.dropTable('servers')];

function keep(knex, dialect, columns) {
  if (dialect === 'sqlite')
    return [
      knex.raw('drop trigger if exists audit_keys_stay_as_they_are'),
      knex.raw(
        `create trigger audit_keys_stay_as_they_are before update${columns} on audit_keys begin select raise(abort, 'the audit log is append-only'); end`,
      ),
    ];
  return [
    knex.raw('drop trigger if exists audit_keys_stay on audit_keys'),
    knex.raw(
      `create trigger audit_keys_stay before delete or update${columns} on audit_keys for each row execute function audit_is_append_only()`,
    ),
  ];
}
