// The chain of the audit log: which entries wait to be sealed, the signed head, the key that signs it, and statements about segments whose
// entries may be removed. An index by time gives way to one by sequence number, which costs new entries nothing until they are sealed.

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => [
  knex.schema.createTable('audit_keys', (t) => {
    t.text('id').notNullable().primary();
    t.text('public_key').notNullable();
    // Wrapped by the master key; opens the secret.
    t.text('data_key').notNullable();
    t.text('secret').notNullable();
    t.text('created_at').notNullable();
  }),
  knex.schema.createTable('audit_heads', (t) => {
    t.text('name').notNullable().primary();
    t.bigInteger('seq').notNullable();
    t.text('hash').notNullable();
    t.text('at');
    t.text('key_id');
    t.text('signature');
  }),
  knex.schema.createTable('audit_segments', (t) => {
    t.bigInteger('last_seq').notNullable().primary();
    t.bigInteger('first_seq').notNullable();
    t.text('previous_hash').notNullable();
    t.text('hash').notNullable();
    t.text('at').notNullable();
    t.text('key_id').notNullable();
    t.text('signature').notNullable();
  }),
  knex('audit_heads').insert({ name: 'current', seq: 0, hash: '' }),
  knex.raw('create index audit_entries_waiting on audit_entries (id) where seq is null'),
  knex.raw('create index audit_entries_sealed on audit_entries (project_id, seq) where seq is not null'),
  knex.raw('drop index audit_entries_project_id_at_index'),
  ...keep(knex, dialect),
];

/** @type {typeof up} */
export const down = (knex, dialect) => [
  ...forget(knex, dialect),
  knex.raw('create index audit_entries_project_id_at_index on audit_entries (project_id, at)'),
  knex.raw('drop index audit_entries_sealed'),
  knex.raw('drop index audit_entries_waiting'),
  ...['audit_segments', 'audit_heads', 'audit_keys'].map((name) => knex.schema.dropTable(name)),
];

const fixedTables = ['audit_keys', 'audit_segments'];

/** Entries go only where a segment states what they were; personal values never change, but may go. */
function keep(knex, dialect) {
  const lastOfSegments = '(select coalesce(max(last_seq), 0) from audit_segments)';
  if (dialect === 'sqlite') {
    const refuse = `begin select raise(abort, 'the audit log is append-only'); end`;
    return [
      knex.raw('drop trigger audit_keep_rows'),
      knex.raw(
        `create trigger audit_keep_rows before delete on audit_entries when old.seq is null or old.seq > ${lastOfSegments} ${refuse}`,
      ),
      knex.raw(`create trigger audit_keep_subjects before update on audit_subjects ${refuse}`),
      knex.raw(`create trigger audit_keep_head before delete on audit_heads ${refuse}`),
      ...fixedTables.flatMap((name) => [
        knex.raw(`create trigger ${name}_stay before delete on ${name} ${refuse}`),
        knex.raw(`create trigger ${name}_stay_as_they_are before update on ${name} ${refuse}`),
      ]),
    ];
  }
  const each = 'for each row execute function';
  return [
    knex.raw(`create function audit_keeps_unstated() returns trigger language plpgsql as $$
begin
  if old.seq is null or old.seq > ${lastOfSegments} then
    raise exception 'the audit log is append-only';
  end if;
  return old;
end $$`),
    knex.raw('drop trigger audit_keep_rows on audit_entries'),
    knex.raw(`create trigger audit_keep_rows before delete on audit_entries ${each} audit_keeps_unstated()`),
    knex.raw(`create trigger audit_keep_subjects before update on audit_subjects ${each} audit_is_append_only()`),
    knex.raw(`create trigger audit_keep_head before delete on audit_heads ${each} audit_is_append_only()`),
    ...fixedTables.map((name) =>
      knex.raw(`create trigger ${name}_stay before delete or update on ${name} ${each} audit_is_append_only()`),
    ),
  ];
}

/** The triggers of the version before; those of the tables that are dropped go with them. */
function forget(knex, dialect) {
  if (dialect === 'sqlite')
    return [
      knex.raw('drop trigger audit_keep_subjects'),
      knex.raw('drop trigger audit_keep_rows'),
      knex.raw(
        `create trigger audit_keep_rows before delete on audit_entries begin select raise(abort, 'the audit log is append-only'); end`,
      ),
    ];
  return [
    knex.raw('drop trigger audit_keep_subjects on audit_subjects'),
    knex.raw('drop trigger audit_keep_rows on audit_entries'),
    knex.raw('drop function audit_keeps_unstated()'),
    knex.raw(
      'create trigger audit_keep_rows before delete on audit_entries for each row execute function audit_is_append_only()',
    ),
  ];
}
