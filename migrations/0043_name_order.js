// Users, teams and files in the order of their names, as lists compare them.

export const usableFrom = '0.1.0';

const scopes = { users: 'project_id', teams: 'project_id', files: 'bucket_key' };

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => {
  const byCode = dialect === 'postgres' ? ' collate "C"' : '';
  return Object.entries(scopes).map(([table, scope]) =>
    knex.raw(
      // Lists have complete files only, so this index also counts them.
      `create index ${table}_by_name on ${table} (${scope}, name${byCode}, created_at, id${byCode})${table === 'files' ? ' where completed_at is not null' : ''}`,
    ),
  );
};

/** @type {typeof up} */
export const down = (knex) => Object.keys(scopes).map((table) => knex.raw(`drop index ${table}_by_name`));
