// A token of a user opens the file while that user may share it, and goes with the account. Earlier tokens, and those of server keys, have no user.

const ofUsers = 'foreign key (project_id, user_id) references users (project_id, id) on delete cascade';
const index = 'create index file_tokens_of_user on file_tokens (project_id, user_id) where user_id is not null';

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) =>
  dialect === 'postgres'
    ? [
        knex.raw('alter table file_tokens add column user_id text'),
        knex.raw(`alter table file_tokens add ${ofUsers}`),
        knex.raw(index),
      ]
    : [
        // SQLite adds no foreign key of two columns to a table.
        knex.raw('alter table file_tokens rename to file_tokens_before'),
        knex.raw('drop index file_tokens_bucket_key_file_id_index'),
        knex.raw(`create table file_tokens (
          project_id text not null references projects (id) on delete cascade,
          id text not null, bucket_key text not null, bucket_id text not null, file_id text not null,
          expire text, created_at text not null, accessed_at text, user_id text,
          primary key (project_id, id),
          foreign key (bucket_key, file_id) references files (bucket_key, id) on delete cascade,
          ${ofUsers})`),
        knex.raw('insert into file_tokens select *, null from file_tokens_before'),
        knex.raw('drop table file_tokens_before'),
        knex.raw('create index file_tokens_bucket_key_file_id_index on file_tokens (bucket_key, file_id)'),
        knex.raw(index),
      ];

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const down = (knex, dialect) =>
  dialect === 'postgres'
    ? [knex.raw('alter table file_tokens drop column user_id')]
    : [
        knex.raw('alter table file_tokens rename to file_tokens_after'),
        knex.raw('drop index file_tokens_bucket_key_file_id_index'),
        knex.raw('drop index file_tokens_of_user'),
        knex.raw(`create table file_tokens (
          project_id text not null references projects (id) on delete cascade,
          id text not null, bucket_key text not null, bucket_id text not null, file_id text not null,
          expire text, created_at text not null, accessed_at text,
          primary key (project_id, id),
          foreign key (bucket_key, file_id) references files (bucket_key, id) on delete cascade)`),
        knex.raw(`insert into file_tokens
          select project_id, id, bucket_key, bucket_id, file_id, expire, created_at, accessed_at from file_tokens_after`),
        knex.raw('drop table file_tokens_after'),
        knex.raw('create index file_tokens_bucket_key_file_id_index on file_tokens (bucket_key, file_id)'),
      ];
