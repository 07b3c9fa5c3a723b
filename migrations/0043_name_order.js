// Users, teams and files in the order of their names, as lists compare them; on Postgres also in the order of their creation, where lists compare
// equal times by id.

export const usableFrom = '0.1.0';

const scopes = { users: 'project_id', teams: 'project_id', files: 'bucket_key' };

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => {
  const isPostgres = dialect === 'postgres';
  const byCode = isPostgres ? ' collate "C"' : '';
  return Object.entries(scopes)
    .flatMap(([table, scope]) => [
      // Lists have complete files only, so this index also counts them.
      `create index ${table}_by_name on ${table} (${scope}, name${byCode}, created_at, id${byCode})${table === 'files' ? ' where completed_at is not null' : ''}`,
      ...(isPostgres ? byTime(table, `(${scope}, created_at, id${byCode})`) : []),
    ])
    .map((sql) => knex.raw(sql));
};

/** Another index of the times. */
function byTime(table, columns) {
  const name = `${table}_${scopes[table]}_created_at_id_index`;
  return [`drop index ${name}`, `create index ${name} on ${table} ${columns}`];
}

/** @type {typeof up} */
export const down = (knex, dialect) =>
  Object.entries(scopes)
    .flatMap(([table, scope]) => [
      `drop index ${table}_by_name`,
      ...(dialect === 'postgres' ? byTime(table, `(${scope}, created_at, id)`) : []),
    ])
    .map((sql) => knex.raw(sql));
