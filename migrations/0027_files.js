// Files: buckets, the files in them, the objects of the file store that hold their bytes, and tokens that open single files.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('buckets', (t) => {
    // Never given twice, unlike the id: files of a deleted bucket are none of a new one.
    t.text('key').notNullable().primary();
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('id').notNullable();
    t.text('name').notNullable();
    t.integer('enabled').notNullable();
    t.integer('file_security').notNullable();
    t.text('permissions').notNullable();
    t.bigInteger('maximum_file_size').notNullable();
    t.text('allowed_file_extensions').notNullable();
    t.text('compression').notNullable();
    t.integer('encryption').notNullable();
    t.integer('transformations').notNullable();
    t.bigInteger('total_size').notNullable();
    t.integer('files').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    // Its files are removed step by step.
    t.text('deleted_at');
  }),
  knex.raw('create unique index buckets_project_id_id on buckets (project_id, id) where deleted_at is null'),
  knex.raw('create index buckets_deleted on buckets (deleted_at) where deleted_at is not null'),
  knex.schema.createTable('files', (t) => {
    t.text('bucket_key').notNullable().references('buckets.key').onDelete('CASCADE');
    t.text('id').notNullable();
    t.text('project_id').notNullable();
    t.text('name').notNullable();
    t.text('permissions').notNullable();
    // `user:` and an id, `key:` and an id, or `guest`.
    t.text('creator').notNullable();
    t.text('mime_type').notNullable();
    t.text('signature').notNullable();
    t.text('digest').notNullable();
    t.bigInteger('size_original').notNullable();
    t.bigInteger('size_actual').notNullable();
    t.integer('chunks_total').notNullable();
    t.integer('chunks_uploaded').notNullable();
    t.text('compression').notNullable();
    t.integer('encryption').notNullable();
    t.text('created_at').notNullable();
    t.text('updated_at').notNullable();
    // Null until all of its bytes are there.
    t.text('completed_at');
    t.primary(['bucket_key', 'id']);
    t.index(['bucket_key', 'created_at', 'id']);
    t.index(['project_id', 'creator']);
  }),
  knex.raw('create index files_unfinished on files (updated_at) where completed_at is null'),
  knex.raw('create index files_unfinished_of on files (bucket_key) where completed_at is null'),
  knex.schema.createTable('file_objects', (t) => {
    t.text('key').notNullable().primary();
    // Rows outlive project, bucket and file until the object is removed.
    t.text('project_id').notNullable();
    t.text('bucket_key').notNullable();
    t.text('file_id');
    t.integer('number').notNullable();
    t.bigInteger('size').notNullable();
    t.bigInteger('stored_size').notNullable();
    // `writing`, `stored` or `removed`.
    t.text('state').notNullable();
    t.text('changed_at').notNullable();
  }),
  knex.raw(
    `create unique index file_objects_file on file_objects (bucket_key, file_id, number) where state = 'stored'`,
  ),
  knex.raw(`create index file_objects_left on file_objects (state, changed_at) where state <> 'stored'`),
  knex.schema.createTable('file_usage', (t) => {
    t.text('project_id').notNullable().primary().references('projects.id').onDelete('CASCADE');
    t.bigInteger('bytes').notNullable();
  }),
  knex.schema.createTable('file_tokens', (t) => {
    t.text('project_id').notNullable().references('projects.id').onDelete('CASCADE');
    t.text('id').notNullable();
    t.text('bucket_key').notNullable();
    t.text('bucket_id').notNullable();
    t.text('file_id').notNullable();
    t.text('expire');
    t.text('created_at').notNullable();
    t.text('accessed_at');
    t.primary(['project_id', 'id']);
    t.index(['bucket_key', 'file_id']);
    t.foreign(['bucket_key', 'file_id']).references(['bucket_key', 'id']).inTable('files').onDelete('CASCADE');
  }),
  knex.raw(`create index events_deleted_files on events (project_id, resource) where type = 'fileDeleted'`),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.raw('drop index events_deleted_files'),
  ...['file_tokens', 'file_usage', 'file_objects', 'files', 'buckets'].map((name) => knex.schema.dropTable(name)),
];
