// What a user did and what was done to it, newest first: each by an index that rows of documents, written by server keys, never enter.

const usersOnly = "substr(resource, 1, 6) = 'users/'";

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => {
  const owner =
    dialect === 'sqlite'
      ? "substr(resource, 7, instr(substr(resource, 7) || '/', '/') - 1)"
      : "split_part(resource, '/', 2)";
  return [
    knex.raw(`create index audit_entries_of_user on audit_entries (project_id, (${owner}), at, id) where ${usersOnly}`),
    knex.raw(
      "create index audit_entries_by_user on audit_entries (project_id, actor_id, at, id) where actor_kind = 'user'",
    ),
  ];
};

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const down = (knex) => [
  knex.raw('drop index audit_entries_by_user'),
  knex.raw('drop index audit_entries_of_user'),
];
