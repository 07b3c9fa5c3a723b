// Projects, users, sessions, server keys, counters, and the rows that every change leaves: audit, events, messages.

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => [
  knex.schema.createTable('installation', (t) => {
    t.text('name').notNullable().primary();
    t.text('value').notNullable();
  }),
  knex.schema.createTable('projects', (t) => {
    t.text('id').notNullable().primary();
    t.text('name').notNullable();
    t.text('settings').notNullable();
    t.text('data_key').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
  }),
  knex.schema.createTable('platforms', (t) => {
    t.text('id').notNullable();
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('name').notNullable();
    t.text('hostname').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'id']);
    t.unique(['project_id', 'hostname']);
  }),
  knex.schema.createTable('api_keys', (t) => {
    t.text('id').notNullable().primary();
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('name').notNullable();
    t.text('scopes').notNullable();
    t.text('secret_digest').notNullable();
    t.text('expire');
    t.text('accessed_at');
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.index(['project_id']);
  }),
  knex.schema.createTable('users', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('id').notNullable();
    t.text('name').notNullable();
    t.text('email');
    t.text('phone');
    t.integer('email_verification').notNullable();
    t.integer('phone_verification').notNullable();
    t.text('password_hash');
    t.text('password_update');
    t.integer('status').notNullable();
    t.integer('mfa').notNullable();
    t.text('labels').notNullable();
    t.text('prefs').notNullable();
    t.text('targets').notNullable();
    t.text('accessed_at');
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.primary(['project_id', 'id']);
    t.unique(['project_id', 'email']);
    t.unique(['project_id', 'phone']);
    t.index(['project_id', 'created_at', 'id']);
  }),
  knex.schema.createTable('sessions', (t) => {
    t.text('id').notNullable().primary();
    t.text('project_id').notNullable();
    t.text('user_id').notNullable();
    t.text('secret_digest').notNullable();
    t.text('expire').notNullable();
    t.text('provider').notNullable();
    t.text('provider_uid').notNullable();
    t.text('factors').notNullable();
    t.text('ip').notNullable();
    t.text('device').notNullable();
    t.text('authenticated_at').notNullable();
    t.text('mfa_updated_at');
    t.text('accessed_at').notNullable();
    t.text('ended_at');
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    t.foreign(['project_id', 'user_id']).references(['project_id', 'id']).inTable('users').onDelete('CASCADE');
    t.index(['project_id', 'user_id', 'created_at']);
    t.index(['expire']);
  }),
  knex.schema.createTable('limit_counters', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('class').notNullable();
    t.text('kind').notNullable();
    t.text('key').notNullable();
    t.bigInteger('arrival').notNullable();
    t.primary(['project_id', 'class', 'kind', 'key']);
    t.index(['arrival']);
  }),
  knex.schema.createTable('audit_entries', (t) => {
    t.text('id').notNullable().primary();
    t.text('project_id');
    t.text('at').notNullable();
    t.text('actor_kind').notNullable();
    t.text('actor_id').notNullable();
    t.text('action').notNullable();
    t.text('resource').notNullable();
    t.text('request_id').notNullable();
    t.text('data').notNullable();
    t.text('mac').notNullable();
    // Filled by the sealer, once.
    t.bigInteger('seq');
    t.text('previous_hash');
    t.text('hash');
    t.index(['project_id', 'at']);
  }),
  knex.schema.createTable('audit_subjects', (t) => {
    t.text('entry_id').notNullable().references('audit_entries.id');
    t.text('field').notNullable();
    t.text('user_id');
    t.text('value').notNullable();
    t.text('salt').notNullable();
    t.primary(['entry_id', 'field']);
    t.index(['user_id']);
  }),
  knex.schema.createTable('events', (t) => {
    t.text('id').notNullable().primary();
    t.text('project_id').notNullable();
    t.text('type').notNullable();
    t.text('created_at').notNullable();
    t.text('data').notNullable();
    // Filled by the dispatcher.
    t.bigInteger('sequence');
    t.text('dispatched_at');
  }),
  // Rows wait for the sealer and the dispatcher for a second; only then are they worth an entry, and until then one in a small index.
  knex.raw('create unique index audit_entries_seq on audit_entries (seq) where seq is not null'),
  knex.raw('create unique index events_sequence on events (project_id, sequence) where sequence is not null'),
  knex.raw('create index events_waiting on events (id) where dispatched_at is null'),
  knex.schema.createTable('messages', (t) => {
    t.text('id').notNullable().primary();
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('user_id');
    t.text('template').notNullable();
    t.text('locale').notNullable();
    t.text('sealed').notNullable();
    t.text('state').notNullable();
    t.text('created_at').notNullable();
    t.index(['state', 'created_at']);
    t.index(['user_id']);
  }),
  ...appendOnly(knex, dialect),
];

/** @type {typeof up} */
export const down = (knex, dialect) => [
  ...[
    'messages',
    'events',
    'audit_subjects',
    'audit_entries',
    'limit_counters',
    'sessions',
    'users',
    'api_keys',
    'platforms',
    'projects',
    'installation',
  ].map((name) => knex.schema.dropTable(name)),
  ...(dialect === 'postgres' ? [knex.raw('drop function audit_is_append_only()')] : []),
];

/** What an audit row says never changes and no row goes; only the sealer's columns are filled, once. */
function appendOnly(knex, dialect) {
  const fixed = ['id', 'project_id', 'at', 'actor_kind', 'actor_id', 'action', 'resource', 'request_id', 'data', 'mac'];
  if (dialect === 'sqlite') {
    const refuse = `begin select raise(abort, 'the audit log is append-only'); end`;
    return [
      knex.raw(`create trigger audit_keep_rows before delete on audit_entries ${refuse}`),
      knex.raw(`create trigger audit_keep_content before update of ${fixed.join(', ')} on audit_entries ${refuse}`),
      knex.raw(
        `create trigger audit_keep_seal before update of seq, previous_hash, hash on audit_entries when old.seq is not null ${refuse}`,
      ),
    ];
  }
  const changed = fixed.map((column) => `old.${column} is distinct from new.${column}`).join(' or ');
  return [
    knex.raw(`create function audit_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only';
end $$`),
    knex.raw(
      'create trigger audit_keep_rows before delete on audit_entries for each row execute function audit_is_append_only()',
    ),
    knex.raw(
      `create trigger audit_keep_content before update on audit_entries for each row when (${changed}) execute function audit_is_append_only()`,
    ),
    knex.raw(
      'create trigger audit_keep_seal before update of seq, previous_hash, hash on audit_entries for each row when (old.seq is not null) execute function audit_is_append_only()',
    ),
  ];
}
